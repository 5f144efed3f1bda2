"""Files that survive a power loss: written, synced, linked to their name, never overwritten."""

import contextlib
import errno
import os
import secrets
from pathlib import Path

from arbor.events.errors import InvalidInputError, LogError, StorageFullError

TEMPORARY_SUFFIX = ".tmp"

# EFBIG is how a file size limit of the process says the same.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_READ_ONLY = frozenset({errno.EROFS, errno.EINVAL, errno.EBADF, errno.EACCES})


class SyncFailedError(LogError):
    """The kernel could not say that bytes are on the disk; what it holds is unknown."""


def storage_full(path: Path, error: OSError) -> StorageFullError | None:
    """Return the error to raise when the disk is full, or None when it is something else."""
    if error.errno not in _FULL:
        return None
    return StorageFullError(
        f"no space to write {path} ({error.strerror}): nothing was recorded;"
        " free space on this disk and resume"
    )


def publish(data: bytes, final: Path, incoming: Path | None = None) -> None:
    """Write a file durably under a name that nobody has: temporary, sync, link, sync directory.

    Args:
        data: the whole content.
        final: the name; its directory exists.
        incoming: directory of the temporary file, on the same file system; next to ``final``
            when None.

    Raises:
        FileExistsError: the name is taken.
        FileNotFoundError: the temporary file was swept away by a successor.
        StorageFullError: there is no space; nothing was left behind.
        SyncFailedError: the disk did not confirm; the caller must stop writing.
        InvalidInputError: the file system has no hard links or cannot be written.
    """
    directory = incoming or final.parent
    temporary = directory / f".{final.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}"
    try:
        _write_synced(data, temporary)
        _link(temporary, final)
    except OSError as error:
        full = storage_full(final, error)
        if full is not None:
            raise full from error
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    sync_directory(final.parent)


def _write_synced(data: bytes, path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno in _READ_ONLY:
            raise InvalidInputError(
                f"{path.parent} cannot be written ({error.strerror}): make it writable, or copy"
                " the campaign to a disk that is"
            ) from error
        raise
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        try:
            os.fsync(descriptor)
        except OSError as error:
            # A full disk may say so here only; the file is thrown away, so nothing is retried.
            if error.errno in _FULL:
                raise
            raise SyncFailedError(
                f"fsync of {path} failed ({error.strerror}): this log takes no more events;"
                " check the disk and resume"
            ) from error
    finally:
        os.close(descriptor)


def _link(temporary: Path, final: Path) -> None:
    try:
        os.link(temporary, final)
    except FileExistsError:
        # A network file system may do the work, lose the answer and repeat the call.
        if not temporary.samefile(final):
            raise
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise InvalidInputError(
                f"the file system of {final.parent} has no hard links ({error.strerror}):"
                " put the campaign on a local disk"
            ) from error
        raise


def sync_directory(path: Path, *, tolerates_read_only: bool = False) -> None:
    """Make the names in a directory durable.

    Args:
        path: the directory.
        tolerates_read_only: accept that an archive cannot be synced; it does not change.

    Raises:
        SyncFailedError: the disk did not confirm.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if tolerates_read_only and error.errno in _READ_ONLY:
            return
        raise SyncFailedError(
            f"fsync of {path} failed ({error.strerror}): this log takes no more events;"
            " check the disk and resume"
        ) from error


def make_directory(path: Path) -> None:
    """Create a directory and its parents durably; an existing one is fine.

    Raises:
        InvalidInputError: it cannot be created here.
        StorageFullError: there is no space.
    """
    try:
        if path.is_dir():
            return
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
    except OSError as error:
        full = storage_full(path, error)
        if full is not None:
            raise full from error
        raise InvalidInputError(
            f"{path} cannot be created ({error.strerror}): choose a directory that can be written"
        ) from error
    sync_directory(path.parent)


def sweep_temporary(directory: Path) -> None:
    """Remove temporary files that a killed writer left behind."""
    for path in directory.glob(f".*{TEMPORARY_SUFFIX}"):
        path.unlink(missing_ok=True)
