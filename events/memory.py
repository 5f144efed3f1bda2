"""An event log in memory: for tests, and wherever nothing must outlive the process."""

import threading
from collections.abc import Iterator, Sequence

from arbor.events.base import Condition, Draft, Recorded
from arbor.events.encoding import Batch
from arbor.events.errors import LogError
from arbor.events.ledger import Clock, Ledger, Stage, chain_digest, utc_now
from arbor.events.log import Head


class MemoryLog:
    """Keeps events in a list; every append is one commit of epoch 1. Safe for threads."""

    def __init__(self, campaign_id: str, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._ledger = Ledger(campaign_id)
        self._events: list[Recorded] = []
        self._grown = threading.Condition()
        self._is_closed = False

    def append(
        self, drafts: Sequence[Draft], condition: Condition | None = None
    ) -> tuple[int, ...]:
        """Append all drafts or none and return their positions; see ``EventLog.append``.

        Raises:
            ConflictError: the condition does not hold.
            FencedError: a draft's incarnation has a successor.
            InvalidInputError: a draft could not be read again.
            LogError: the log is closed.
        """
        batch = Batch.encode(drafts, condition)
        with self._grown:
            if self._is_closed:
                raise LogError("the log is closed: open it again to append")
            stage = Stage(self._ledger, epoch=1, now=self._clock())
            positions = stage.add(batch)
            rows = stage.rows
            if rows.drafts:
                digest = chain_digest(self._ledger.head.digest, rows.canonical_text().encode())
                self._ledger.apply(stage.index, Head(rows.last, digest), rows.recorded_at_us)
                self._events.extend(
                    rows.recorded(position) for position in range(rows.first, rows.last + 1)
                )
                self._grown.notify_all()
            return positions

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Yield events beyond ``after`` in order."""
        with self._grown:
            end = len(self._events) if limit is None else max(after, 0) + limit
            found = self._events[max(after, 0) : end]
        yield from found

    def head(self) -> Head:
        """Return the end of the log."""
        with self._grown:
            return self._ledger.head

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Wait until the head lies beyond ``position``; return whether it does."""
        with self._grown:
            return self._grown.wait_for(lambda: len(self._events) > position, timeout_s)

    def close(self) -> None:
        """Refuse later appends; closing twice is harmless."""
        with self._grown:
            self._is_closed = True
