"""Snapshots of the campaign's state, so that a resumed actor folds only what came since.

They are disposable: proven against the log's chain of digests, signed with a key that never leaves
the user's own machine, and dropped at the first doubt. The audit and all replays ignore them.
"""

import gc
import hashlib
import hmac
import os
import pickle
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pydantic

from arbor.core.layout import CampaignDirectory
from arbor.core.state import CampaignState
from arbor.events.base import canonical_json
from arbor.events.errors import ArborError, NotFoundError
from arbor.events.parquet_reader import ParquetReader

EVERY_EVENTS = 10_000
"""A new snapshot after so many further events."""
_NUM_KEPT = 2
_TROUBLE = (ArborError, OSError, pickle.PickleError, RecursionError)
_SUFFIX = ".snapshot"
_FOLDED_BY = ("arbor.core", "arbor.events")
"""Packages whose code decides what a fold gives."""


class Snapshots:
    """The snapshots of one log.

    Args:
        log: the log's directory.
        folder: where they lie; made when needed.
        key: file of the key that signs them; made when needed.
    """

    def __init__(self, log: Path, folder: Path, key: Path) -> None:
        self._log = log
        self._folder = folder
        # Stays as it is where there is no home; then there are no snapshots.
        self._key = Path(os.path.expanduser(key))  # noqa: PTH111 - Path.expanduser raises
        self._saved_at = 0

    @classmethod
    def of_campaign(cls, directory: Path) -> "Snapshots":
        """Return the snapshots of a campaign, signed by this user."""
        names = CampaignDirectory(directory)
        state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
        return cls(names.log, names.snapshots, Path(state) / "arbor" / "snapshot.key")

    def latest(self) -> CampaignState | None:
        """Return the newest state that is proven to be a fold of this log, or None."""
        with suppress(*_TROUBLE):
            reader = ParquetReader(self._log)
            for path in self._newest_first():
                if (state := self._proven(path, reader)) is not None:
                    self._saved_at = state.position
                    return state
        return None

    def save_if_due(self, state: CampaignState) -> bool:
        """Save a state when enough happened since the last time; return whether it was saved."""
        if state.position - self._saved_at < EVERY_EVENTS:
            return False
        return self.save(state)

    def save(self, state: CampaignState) -> bool:
        """Save a state that lies between two commits; return whether it was saved.

        Trouble here harms nobody: the next start folds a little more.
        """
        self._saved_at = state.position
        with suppress(*_TROUBLE):
            digest = ParquetReader(self._log).digest_at(state.position)
            if digest is None:
                return False
            head = _header(state.position, digest)
            body = pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL)
            self._write(state.position, self._signature(head, body) + body)
            return True
        return False

    def _write(self, position: int, data: bytes) -> None:
        self._folder.mkdir(exist_ok=True)
        temporary = self._folder / f".{secrets.token_hex(8)}"
        temporary.write_bytes(data)
        temporary.replace(self._folder / f"{position:020d}{_SUFFIX}")
        for old in list(self._newest_first())[_NUM_KEPT:]:
            old.unlink(missing_ok=True)

    def _newest_first(self) -> Iterator[Path]:
        yield from sorted(self._folder.glob(f"*{_SUFFIX}"), reverse=True)

    def unproven(self) -> tuple[Path, ...]:
        """Return the snapshots that a start here would not use; nothing of them is unpickled."""
        if not self._folder.is_dir():
            return ()
        reader = ParquetReader(self._log)
        return tuple(path for path in self._newest_first() if not self._is_proven(path, reader))

    def _is_proven(self, path: Path, reader: ParquetReader) -> bool:
        with suppress(*_TROUBLE):
            return self._signed(path, reader) is not None
        return False

    def _proven(self, path: Path, reader: ParquetReader) -> CampaignState | None:
        """Return the state of a snapshot, or None when anything about it is in doubt."""
        body = self._signed(path, reader)
        if body is None:
            return None
        with _no_collection():
            state = pickle.loads(body)  # noqa: S301 - signed by this user, for this code and log
        return state if isinstance(state, CampaignState) else None

    def _signed(self, path: Path, reader: ParquetReader) -> bytes | None:
        """Return what a snapshot holds, or None when this user did not sign it for this log."""
        data = path.read_bytes()
        size = hashlib.sha256().digest_size
        signature, body = data[:size], data[size:]
        position = int(path.stem) if path.stem.isdigit() else 0
        digest = reader.digest_at(position)
        if digest is None or not hmac.compare_digest(
            signature, self._signature(_header(position, digest), body)
        ):
            return None
        return body

    def _signature(self, header: bytes, body: bytes) -> bytes:
        signed = hmac.new(self._read_key(), header, hashlib.sha256)
        signed.update(body)
        return signed.digest()

    def _read_key(self) -> bytes:
        if not self._key.is_absolute():
            raise NotFoundError(f"no home directory for {self._key}")
        with suppress(FileNotFoundError):
            return self._key.read_bytes()
        self._key.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._key.with_name(f".{secrets.token_hex(8)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
        # Another process may have been faster; its key stands.
        with suppress(FileExistsError):
            os.link(temporary, self._key)
        temporary.unlink()
        return self._key.read_bytes()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking at a million new objects again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _header(position: int, digest: str) -> bytes:
    return canonical_json({"code": _code(), "digest": digest, "position": position}).encode()


@cache
def _code() -> str:
    """Return a digest of everything that decides what a fold gives and how it is pickled."""
    digest = hashlib.sha256(f"{platform.python_version()} {pydantic.VERSION}".encode())
    for package in map(import_module, _FOLDED_BY):
        for path in _sources(package):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(package: ModuleType) -> Iterator[Path]:
    for folder in package.__path__:
        yield from sorted(Path(folder).rglob("*.py"))
