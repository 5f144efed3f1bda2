"""The event log on disk: one writer, group commit, one immutable Parquet file per flush."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

from arbor.events.base import Condition, Draft, Recorded
from arbor.events.codec import Commit, encode_file, to_table
from arbor.events.compaction import Compactor
from arbor.events.durable import SyncFailedError, publish, sync_directory
from arbor.events.errors import (
    ArborError,
    CorruptLogError,
    FencedError,
    InvalidInputError,
    LogError,
)
from arbor.events.layout import Layout
from arbor.events.ledger import Batch, Clock, Ledger, Stage, chain_digest, utc_now
from arbor.events.log import Head
from arbor.events.parquet_reader import ParquetReader

COMPACT_AFTER_COMMITS = 512
GRACE_S = 60.0
_NUM_RECENT = 4096


@dataclass(slots=True, eq=False)
class _Request:
    """One waiting append and what became of it."""

    batch: Batch
    positions: tuple[int, ...] | None = None
    error: ArborError | None = None

    @property
    def is_done(self) -> bool:
        return self.positions is not None or self.error is not None

    def result(self) -> tuple[int, ...]:
        if self.error is not None:
            raise self.error
        return self.positions or ()


class ParquetLog:
    """The single writer of a log directory; safe for threads.

    Of the threads that wait in ``append`` one leads: it stages every waiting batch, writes one
    file for all, and wakes them. Then another one leads. Build it with ``open``.
    """

    def __init__(
        self, layout: Layout, reader: ParquetReader, epoch: int, clock: Clock, compactor: Compactor
    ) -> None:
        self.epoch = epoch
        self.campaign_id = reader.campaign_id
        self._layout = layout
        self._reader = reader
        self._clock = clock
        self._compactor = compactor
        self._ledger = Ledger(reader.campaign_id)
        self._recent: deque[Recorded] = deque(maxlen=_NUM_RECENT)
        self._pending: list[_Request] = []
        self._is_led = False
        self._end: LogError | None = None
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._grown = threading.Condition(self._lock)

    @classmethod
    def open(
        cls,
        directory: Path,
        campaign_id: str,
        clock: Clock = utc_now,
        *,
        create: bool = True,
        compact_after: int = COMPACT_AFTER_COMMITS,
        grace_s: float = GRACE_S,
    ) -> "ParquetLog":
        """Take the log over from whoever wrote it, check all of it, and fold it.

        Args:
            directory: the log's own directory, ``<campaign>/log``.
            campaign_id: campaign that the log must belong to.
            clock: gives ``recorded_at``.
            create: make a new log where there is none.
            compact_after: number of commits in the tail that are put into one segment.
            grace_s: how long a commit's file outlives its segment.

        Raises:
            NotFoundError: there is no log and none may be created.
            InvalidInputError: another format or campaign, or the directory cannot be written.
            StorageFullError: there is no space.
            FencedError: yet another writer took over meanwhile.
            CorruptLogError: stored events do not match their digests or positions.
        """
        layout = Layout(directory)
        if create:
            layout.create(campaign_id)
        reader = ParquetReader(directory)
        if reader.campaign_id != campaign_id:
            raise InvalidInputError(
                f"{directory} belongs to campaign {reader.campaign_id!r}, not {campaign_id!r}:"
                " name that one or choose another directory"
            )
        epoch = layout.claim_epoch(clock)
        compactor = Compactor(layout, epoch, compact_after=compact_after, grace_s=grace_s)
        log = cls(layout, reader, epoch, clock, compactor)
        log._adopt()
        compactor.start()
        return log

    def append(
        self, drafts: Sequence[Draft], condition: Condition | None = None
    ) -> tuple[int, ...]:
        """Append all drafts or none, durably; see ``EventLog.append``.

        Raises:
            ConflictError: the condition does not hold.
            FencedError: this writer, or a draft's incarnation, has a successor.
            InvalidInputError: a draft could not be read again.
            StorageFullError: there is no space; nothing was recorded, a later append may succeed.
            LogError: the log is closed or the disk failed.
        """
        request = _Request(Batch.encode(drafts, condition))
        led: list[_Request] = []
        leads = False
        try:
            with self._turn:
                self._require_open()
                self._pending.append(request)
                self._turn.wait_for(lambda: request.is_done or not self._is_led)
                if not request.is_done:
                    leads = self._is_led = True
                    led, self._pending = self._pending, []
            if leads:
                self._flush(led)
        finally:
            # Also when interrupted: nobody may wait for a leader that is gone.
            with self._turn:
                if request in self._pending:
                    self._pending.remove(request)
                if leads:
                    self._hand_over(led)
        return request.result()

    def _hand_over(self, led: list[_Request]) -> None:
        for request in led:
            if not request.is_done:
                request.error = LogError("the append was interrupted: read the log, then repeat")
        self._is_led = False
        self._turn.notify_all()

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Yield durable events beyond ``after`` in order; recent ones come from memory.

        Raises:
            CorruptLogError: a stored event cannot be read or breaks the order.
        """
        with self._lock:
            last = self._ledger.head.position
            first = last - len(self._recent) + 1
            is_recent = after + 1 >= first
            recent = (
                list(islice(self._recent, max(after + 1 - first, 0), None)) if is_recent else []
            )
        if is_recent:
            return islice(recent, limit)
        durable = takewhile(lambda each: each.position <= last, self._reader.read(after))
        return islice(durable, limit)

    def head(self) -> Head:
        """Return the durable end of the log."""
        with self._lock:
            return self._ledger.head

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Wait until the durable head lies beyond ``position``; return whether it does."""
        with self._grown:
            self._grown.wait_for(
                lambda: self._ledger.head.position > position or self._end is not None, timeout_s
            )
            return self._ledger.head.position > position

    def compact(self) -> None:
        """Move the tail into segments now, and remove what has outlived its grace.

        Raises:
            StorageFullError: there is no space; the tail stays.
            CorruptLogError: a file of the tail is damaged; it stays.
            LogError: the log is closed or the disk failed.
        """
        with self._lock:
            self._require_open()
            through = self._ledger.head.position
        self._compactor.run(through)

    def close(self) -> None:
        """Wait for appends on their way, then refuse later ones; closing twice is harmless."""
        with self._turn:
            self._turn.wait_for(lambda: not self._is_led and not self._pending)
            if self._end is None:
                self._end = LogError("the log is closed: open it again to append")
            self._turn.notify_all()
            self._grown.notify_all()
        self._compactor.join()

    def _require_open(self) -> None:
        if self._end is not None:
            raise type(self._end)(*self._end.args)

    def _flush(self, requests: list[_Request]) -> None:
        """Commit all batches in one file and decide every request."""
        try:
            self._require_open()
            while not self._try_commit(requests):
                self._adopt()
        except (SyncFailedError, FencedError, CorruptLogError) as error:
            with self._lock:
                self._end = error
                self._grown.notify_all()
            self._fail(requests, error)
        except ArborError as error:
            self._fail(requests, error)
        except OSError as error:
            self._fail(requests, LogError(f"{self._layout.tail} cannot be written: {error}"))

    def _try_commit(self, requests: list[_Request]) -> bool:
        """Return False when the next position has another owner."""
        stage = Stage(self._ledger, self.epoch, self._clock())
        outcomes: list[tuple[int, ...] | ArborError] = []
        for request in requests:
            try:
                outcomes.append(stage.add(request.batch))
            except LogError as error:
                outcomes.append(error)
        if stage.entries:
            first = self._ledger.head.position + 1
            previous = self._ledger.head.digest
            digest = chain_digest(previous, stage.entries)
            commit = Commit(first, stage.entries[-1].recorded.position, self.epoch, digest)
            data = encode_file(to_table(stage.entries), [commit], previous)
            try:
                publish(data, self._layout.tail_path(first))
            except (FileExistsError, FileNotFoundError):
                return False
            self._layout.require_newest(self.epoch)
            self._show([entry.recorded for entry in stage.entries], digest)
            self._compactor.note_commit(commit.last)
        with self._lock:
            for request, outcome in zip(requests, outcomes, strict=True):
                if isinstance(outcome, ArborError):
                    request.error = outcome
                else:
                    request.positions = outcome
        return True

    def _fail(self, requests: list[_Request], error: ArborError) -> None:
        for request in requests:
            request.error = type(error)(*error.args)

    def _show(self, recorded: list[Recorded], digest: str) -> None:
        with self._lock:
            self._ledger.apply(recorded, digest)
            self._recent.extend(recorded)
            self._grown.notify_all()

    def _adopt(self) -> None:
        """Fold what lies beyond the head: everything at first, a predecessor's last commit later.

        Raises:
            CorruptLogError: the content does not give its digests.
            FencedError: the writer has a successor.
            SyncFailedError: the disk did not confirm.
        """
        sync_directory(self._layout.tail)
        for file in self._reader.files(self._ledger.head.position):
            for commit, entries in file.checked():
                if commit.first > self._ledger.head.position:
                    self._show([entry.recorded for entry in entries], commit.digest)
        # A commit of a newer epoch may be among them; nothing of this epoch may follow it.
        self._layout.require_newest(self.epoch)
