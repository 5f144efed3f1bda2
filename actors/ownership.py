"""Who owns a campaign's directory, one driver at a time, and what it holds already."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from arbor.actors.snapshots import Snapshots
from arbor.core.layout import CampaignDirectory
from arbor.core.state import CampaignState
from arbor.events.errors import BusyError, CorruptLogError, InvalidInputError
from arbor.events.layout import Layout
from arbor.events.parquet_reader import ParquetReader


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier driver left in a directory.

    Attributes:
        campaign_id: campaign that the log belongs to.
        state: the campaign as folded from the whole log; nothing in it when the start of the
            first driver was interrupted.
    """

    campaign_id: str
    state: CampaignState


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
        raise _unwritable(directory, error) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BusyError(
                f"another run owns {directory}; wait for it, or choose another --dir"
            ) from error
        yield


def write_campaign_file(directory: Path, text: str) -> None:
    """Keep the campaign file as it was used beside the log.

    Raises:
        InvalidInputError: the directory cannot be written.
    """
    try:
        CampaignDirectory(directory).campaign_file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(directory, error) from error


def _unwritable(directory: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"cannot write to {directory}: {error.strerror}; choose another --dir"
    )


def require_own(directory: Path) -> None:
    """Check that a directory is empty, or holds nothing but what Arbor puts there.

    Raises:
        InvalidInputError: it holds something else, or is no directory that can be read.
    """
    names = CampaignDirectory(directory)
    try:
        if names.log.exists() or not directory.exists():
            return
        left_by_arbor = {names.lock.name, names.campaign_file.name, names.logs.name}
        foreign = {path.name for path in directory.iterdir()} - left_by_arbor
    except OSError as error:
        raise InvalidInputError(
            f"cannot use {directory}: {error.strerror}; choose another --dir"
        ) from error
    if foreign:
        raise InvalidInputError(
            f"{directory} is not empty and holds no campaign; choose another --dir"
        )


def move_aside(directory: Path) -> None:
    """Keep an earlier campaign beside a new one.

    Raises:
        BusyError: a driver runs there.
        InvalidInputError: the directory cannot be moved.
    """
    if not CampaignDirectory(directory).log.exists():
        return
    with hold_directory(directory):
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        try:
            directory.rename(directory.with_name(f"{directory.name}.{stamp}"))
        except OSError as error:
            raise InvalidInputError(
                f"cannot move {directory} aside: {error.strerror}; choose another --dir"
            ) from error


def earlier_campaign(directory: Path) -> Earlier | None:
    """Return what a directory holds already, or None when there is no log.

    Raises:
        InvalidInputError: the log has another version.
        CorruptLogError: the log is damaged.
    """
    layout = Layout(CampaignDirectory(directory).log)
    if not layout.format.exists():
        if layout.tail.is_dir() and layout.tails():
            raise CorruptLogError(f"{layout.format} is missing: restore it from a copy")
        return None
    reader = ParquetReader(layout.directory)
    state = Snapshots.of_campaign(directory).latest() or CampaignState()
    for recorded in reader.read(state.position):
        state.apply(recorded)
    return Earlier(reader.campaign_id, state)
