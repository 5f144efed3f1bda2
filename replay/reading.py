"""Campaign directories, opened read-only; every problem is one line with the fix."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from arbor.core.layout import CampaignDirectory
from arbor.core.reactor import Fold
from arbor.core.state import CampaignState
from arbor.events.base import SCHEMA_VERSION, Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.events.parquet_reader import ParquetReader


@dataclass(frozen=True, slots=True)
class Recording:
    """A campaign as it lies on disk; nothing here ever writes.

    Attributes:
        directory: names of its parts.
        reader: its event log.
        started: its first event of substance.
    """

    directory: CampaignDirectory
    reader: ParquetReader
    started: CampaignStarted

    def events(self, after: int = 0, up_to: int | None = None) -> Iterator[Recorded]:
        """Yield the events beyond ``after`` in order, up to a position if one is given.

        Raises:
            CorruptLogError: a stored event cannot be read.
        """
        for recorded in self.reader.read(after=after):
            if up_to is not None and recorded.position > up_to:
                return
            yield recorded

    def fold(self, *folds: Fold, up_to: int | None = None) -> int:
        """Feed the log to folds; return the number of events.

        Raises:
            CorruptLogError: a stored event cannot be read.
        """
        num = 0
        for recorded in self.events(up_to=up_to):
            for each in folds:
                each.apply(recorded)
            num += 1
        return num

    def state(self, up_to: int | None = None) -> CampaignState:
        """Return the campaign's state at a position, by default at the end.

        Raises:
            CorruptLogError: a stored event cannot be read.
        """
        state = CampaignState()
        self.fold(state, up_to=up_to)
        return state


def open_reader(path: Path) -> ParquetReader:
    """Return the log of a directory that may not hold a campaign yet.

    Raises:
        NotFoundError: the directory or its log is missing.
        InvalidInputError: the path is a file, or the log has another format.
        CorruptLogError: the log is damaged.
    """
    if not path.exists():
        raise NotFoundError(f"no directory {path}: give the directory of a campaign")
    if not path.is_dir():
        raise InvalidInputError(f"{path} is a file: give the directory of a campaign")
    log = CampaignDirectory(path).log
    if not log.is_dir():
        raise NotFoundError(
            f"{path} holds no campaign (it has no log folder): start one with"
            f" `arbor run --dir {path}`"
        )
    return ParquetReader(log)


def open_campaign(path: Path) -> Recording:
    """Open a campaign directory for reading.

    Raises:
        NotFoundError: there is no such directory, or no campaign in it.
        InvalidInputError: the path is a file, or another version of Arbor wrote it.
        CorruptLogError: the log is damaged.
    """
    reader = open_reader(path)
    for recorded in reader.read():
        if recorded.schema_version > SCHEMA_VERSION:
            raise InvalidInputError(
                f"{path} was written with event schema {recorded.schema_version}, this Arbor"
                f" reads up to {SCHEMA_VERSION}: use the Arbor version that wrote it"
            )
        if isinstance(recorded.event, CampaignStarted):
            return Recording(CampaignDirectory(path), reader, recorded.event)
    raise NotFoundError(
        f"{path} holds a log without a campaign: its start was interrupted;"
        f" run `arbor run --dir {path}` again"
    )
