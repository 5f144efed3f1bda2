"""Large bodies beside the log, named by the SHA-256 of their content."""

import contextlib
import re
import time
from hashlib import sha256
from pathlib import Path

from arbor.events.durable import TEMPORARY_SUFFIX, make_directory, publish, sync_directory
from arbor.events.errors import CorruptLogError, InvalidInputError, LogError, NotFoundError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ABANDONED_AFTER_S = 24 * 3600


class BlobStore:
    """A directory of immutable bodies, ``<first two digits>/<digest>``; any process may write."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._sweep()

    def put(self, data: bytes) -> str:
        """Store a body durably and return its digest; storing it again changes nothing.

        Raises:
            StorageFullError: there is no space; nothing was stored.
            InvalidInputError: the directory cannot be written.
            LogError: the disk did not confirm.
        """
        digest = sha256(data).hexdigest()
        path = self._path(digest)
        incoming = self.directory / "incoming"
        make_directory(path.parent)
        make_directory(incoming)
        with contextlib.suppress(FileExistsError):
            publish(data, path, incoming)
            return digest
        if path.read_bytes() == data:
            # Whoever linked it may not have synced the directory yet.
            sync_directory(path.parent)
            return digest
        # The disk damaged the stored copy; this one is good.
        path.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):
            publish(data, path, incoming)
        return digest

    def get(self, digest: str) -> bytes:
        """Return a body whose content matches its digest.

        Raises:
            InvalidInputError: this is no digest.
            NotFoundError: there is no such body.
            CorruptLogError: the stored content has another digest.
        LogError: it cannot be read.
        """
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise NotFoundError(
                f"no blob {digest} in {self.directory}: copy the whole campaign directory"
            ) from error
        except OSError as error:
            raise LogError(
                f"blob {path} cannot be read ({error.strerror}): restore it from a copy"
            ) from error
        found = sha256(data).hexdigest()
        if found != digest:
            raise CorruptLogError(
                f"blob {path} is damaged (its content has digest {found}): restore it from a copy"
            )
        return data

    def __contains__(self, digest: str) -> bool:
        return self._path(digest).is_file()

    def _sweep(self) -> None:
        """Remove temporary files that writers left behind more than a day ago."""
        oldest = time.time() - _ABANDONED_AFTER_S
        # Only tidiness: a store that is read-only or swept by another process is fine.
        with contextlib.suppress(OSError):
            for path in (self.directory / "incoming").glob(f".*{TEMPORARY_SUFFIX}"):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise InvalidInputError(f"{digest!r} is no blob digest: 64 lowercase hex digits")
        return self.directory / digest[:2] / digest
