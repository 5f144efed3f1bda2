"""Who owns a campaign's directory: one driver at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from arbor.core.layout import CampaignDirectory
from arbor.events.errors import BusyError, InvalidInputError
from arbor.events.parquet_reader import ParquetReader


@contextmanager
def hold_directory(directory: Path) -> Iterator[None]:
    """Own a campaign's directory; a second driver is refused.

    Raises:
        BusyError: another driver runs there.
        InvalidInputError: the directory cannot be written.
    """
    lock: IO[str]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = CampaignDirectory(directory).lock.open("a+")
    except OSError as error:
        raise InvalidInputError(
            f"cannot write to {directory}: {error.strerror}; choose another --dir"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BusyError(
                f"another run owns {directory}; wait for it, or choose another --dir"
            ) from error
        yield


def existing_campaign_id(directory: Path) -> str | None:
    """Return the id of the campaign in a directory, or None when there is no log.

    Raises:
        InvalidInputError: the log has another version or cannot be read.
    """
    log = CampaignDirectory(directory).log
    return ParquetReader(log).campaign_id if (log / "format.json").exists() else None
