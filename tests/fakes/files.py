"""Events as the files of a log, cut where a test wants, without a disk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from arbor.events.base import Draft, Recorded, timestamp_us
from arbor.events.codec import to_table
from arbor.events.encoding import Batch
from arbor.events.ledger import Rows


@dataclass(frozen=True)
class MemoryFile:
    """Some events in a row, as a commit in the tail of a log."""

    own: tuple[Recorded, ...]
    path: Path = Path("memory") / "tail" / "commit"

    @property
    def first(self) -> int:
        """First position."""
        return self.own[0].position

    @property
    def last(self) -> int:
        """Last position."""
        return self.own[-1].position

    def table(self) -> pa.Table:
        """Return the rows."""
        return pa.concat_tables([to_table(_rows(each)) for each in self.own])

    def events(self, after: int = 0) -> Iterator[Recorded]:
        """Yield the events beyond a position."""
        return (each for each in self.own if each.position > after)


def _rows(recorded: Recorded) -> Rows:
    draft = Draft(
        recorded.event,
        recorded.event_id,
        recorded.actor,
        recorded.incarnation,
        recorded.decided_after,
        recorded.decided_at,
    )
    return Rows(
        recorded.position,
        timestamp_us(recorded.recorded_at) or 0,
        recorded.campaign_id,
        recorded.epoch,
        Batch.encode([draft], None).drafts,
    )


class MemoryFiles:
    """A log that grows when the test says so, in files of a given number of events."""

    def __init__(self, events: Sequence[Recorded], num_visible: int, per_file: int = 7) -> None:
        self._events = tuple(events)
        self._per_file = per_file
        self.num_visible = num_visible

    def files(self, after: int = 0) -> Iterator[MemoryFile]:
        """Yield the files beyond a position; the first may begin before it."""
        begin = max(0, after - after % self._per_file)
        visible = self._events[: self.num_visible]
        for start in range(begin, len(visible), self._per_file):
            own = visible[start : start + self._per_file]
            if own and own[-1].position > after:
                yield MemoryFile(own)
