"""The single writer of a log, whatever stores its files: stage, publish, prove ownership, show."""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import takewhile

import pyarrow as pa

from arbor.events.base import Condition, Draft, Recorded
from arbor.events.codec import Extent, canonical_lines, encode_file, text_of, to_table
from arbor.events.encoding import Batch
from arbor.events.group_commit import GroupCommit, Outcome
from arbor.events.ledger import Clock, Index, Ledger, Rows, Stage, chain_digest
from arbor.events.log import EventReader, Head
from arbor.events.log_file import LogFile

_FEW_ROWS = 100
"""Up to here Python writes the digested text faster than Arrow begins."""
_NUM_RECENT = 4096
"""Events that are served from memory; the last commit always is."""


class SingleWriter(ABC):
    """Appends to files whose names are positions; safe for threads.

    Subclasses say how a file gets its name, who the newest writer is, and what others wrote.
    """

    def __init__(self, campaign_id: str, reader: EventReader, epoch: int, clock: Clock) -> None:
        self.epoch = epoch
        self.campaign_id = campaign_id
        self._durable = reader
        self._clock = clock
        self._ledger = Ledger(campaign_id)
        self._recent: deque[Rows] = deque()
        self._grown = threading.Condition()
        self._group = GroupCommit(self._commit, self._wake)

    @abstractmethod
    def _publish(self, first: int, data: bytes) -> bool:
        """Store a commit durably as the one that begins at a position, unless there is one.

        Returns:
            Whether it was stored.
        """

    @abstractmethod
    def _require_newest(self) -> None:
        """Check that this writer has no successor.

        Raises:
            FencedError: it has.
        """

    @abstractmethod
    def _files(self, after: int) -> Iterator[LogFile]:
        """Yield the durable files that hold what lies beyond a position."""

    @abstractmethod
    def _committed(self, position: int) -> None:
        """Take note of a commit of this writer."""

    def append(
        self, drafts: Sequence[Draft], condition: Condition | None = None
    ) -> tuple[int, ...]:
        """Append all drafts or none, durably; see ``EventLog.append``.

        Raises:
            ConflictError: the condition does not hold.
            FencedError: this writer, or a draft's incarnation, has a successor.
            InvalidInputError: a draft could not be read again.
            StorageFullError: there is no space; nothing was recorded, a later append may succeed.
            LogError: the log is closed or its storage failed.
        """
        return self.append_batch(Batch.encode(drafts, condition))

    def append_batch(self, batch: Batch) -> tuple[int, ...]:
        """Append a batch that is encoded already; see ``append``."""
        return self._group.submit(batch)

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Yield durable events beyond ``after`` in order; recent ones come from memory.

        Raises:
            CorruptLogError: a stored event cannot be read or breaks the order.
        """
        after = max(after, 0)
        with self._grown:
            last = self._ledger.head.position
            recent = [rows for rows in self._recent if rows.last > after]
        if limit is not None:
            last = min(last, after + limit)
        if recent and recent[0].first <= after + 1:
            return (
                rows.recorded(position)
                for rows in recent
                for position in range(max(rows.first, after + 1), min(rows.last, last) + 1)
            )
        return takewhile(lambda each: each.position <= last, self._durable.read(after, limit))

    def head(self) -> Head:
        """Return the durable end of the log."""
        with self._grown:
            return self._ledger.head

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Wait until the durable head lies beyond ``position``; return whether it does."""
        with self._grown:
            self._grown.wait_for(
                lambda: self._ledger.head.position > position or self._group.is_ended, timeout_s
            )
            return self._ledger.head.position > position

    def close(self) -> None:
        """Wait for appends on their way, then refuse later ones; closing twice is harmless."""
        self._group.close()

    def _wake(self) -> None:
        with self._grown:
            self._grown.notify_all()

    def _commit(self, batches: Sequence[Batch]) -> Sequence[Outcome]:
        """Commit all batches in one file; return what became of each."""
        while True:
            stage = Stage(self._ledger, self.epoch, self._clock())
            outcomes = stage.decide(batches)
            if not stage.rows.drafts or self._try_write(stage):
                return outcomes
            self._adopt()

    def _try_write(self, stage: Stage) -> bool:
        """Return False when the next position has another owner."""
        rows = stage.rows
        previous = self._ledger.head.digest
        table = to_table(rows)
        digest = chain_digest(previous, _canonical(rows, table))
        extent = Extent(rows.first, (len(rows.drafts),), previous, digest)
        if not self._publish(rows.first, encode_file(table, extent)):
            return False
        self._require_newest()
        with self._grown:
            self._ledger.apply(stage.index, Head(rows.last, digest), rows.recorded_at_us)
            self._recent.append(rows)
            while self._recent[0].last + _NUM_RECENT < rows.last:
                self._recent.popleft()
            self._grown.notify_all()
        self._committed(rows.last)
        return True

    def _adopt(self) -> None:
        """Fold what lies beyond the head: everything at first, a predecessor's last commit later.

        Raises:
            CorruptLogError: the content does not give its digests.
            FencedError: the writer has a successor.
            SyncFailedError: the disk did not confirm.
        """
        for file in self._files(self._ledger.head.position):
            table = file.table()
            file.commits(table)
            index, recorded_at_us = file.index(table, self._ledger.head.position)
            self._fold(index, Head(file.last, file.extent.digest), recorded_at_us)
        # A commit of a newer epoch may be among them; nothing of this epoch may follow it.
        self._require_newest()

    def _fold(self, index: Index, head: Head, recorded_at_us: int) -> None:
        with self._grown:
            self._ledger.apply(index, head, recorded_at_us)
            # What others wrote is served from the files.
            self._recent.clear()
            self._grown.notify_all()


def _canonical(rows: Rows, table: pa.Table) -> bytes | memoryview:
    """Return the text that the digest of a commit covers, by whichever way is faster."""
    if len(rows.drafts) <= _FEW_ROWS:
        return rows.canonical_text().encode()
    return text_of(canonical_lines(table))[0]
