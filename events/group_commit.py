"""Group commit: of the threads that wait to append, one leads and commits for all."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arbor.events.durable import SyncFailedError
from arbor.events.encoding import Batch
from arbor.events.errors import ArborError, CorruptLogError, FencedError, LogError

Outcome = tuple[int, ...] | ArborError
"""Positions of a batch, or why it was refused."""

_FATAL = (SyncFailedError, FencedError, CorruptLogError)
"""After one of these, what the storage holds is unknown, or somebody else's."""


@dataclass(slots=True, eq=False)
class _Request:
    """One waiting append and what became of it."""

    batch: Batch
    outcome: Outcome | None = None

    def result(self) -> tuple[int, ...]:
        if isinstance(self.outcome, tuple):
            return self.outcome
        raise self.outcome or LogError("the append was lost: read the log, then repeat")


class GroupCommit:
    """Collects appends of many threads into few commits; there is no thread of its own.

    Args:
        commit: stores batches and returns one outcome each, in order; an exception fails all.
        on_end: called once when no more appends are taken.
    """

    def __init__(
        self, commit: Callable[[Sequence[Batch]], Sequence[Outcome]], on_end: Callable[[], None]
    ) -> None:
        self._commit = commit
        self._on_end = on_end
        self._pending: list[_Request] = []
        self._is_led = False
        self._end: LogError | None = None
        self._turn = threading.Condition()

    @property
    def num_waiting(self) -> int:
        """Number of appends that wait for the next commit."""
        return len(self._pending)

    @property
    def is_ended(self) -> bool:
        """Whether no more appends are taken."""
        return self._end is not None

    def submit(self, batch: Batch) -> tuple[int, ...]:
        """Commit a batch together with whatever else waits; return its positions.

        Raises:
            ConflictError: its condition does not hold.
            FencedError: the writer, or a draft's incarnation, has a successor.
            StorageFullError: there is no space; nothing was recorded.
            LogError: the log is closed or its storage failed.
        """
        request = _Request(batch)
        led: list[_Request] = []
        leads = False
        try:
            with self._turn:
                self.require_open()
                self._pending.append(request)
                self._turn.wait_for(lambda: request.outcome is not None or not self._is_led)
                if request.outcome is None:
                    leads = self._is_led = True
                    led, self._pending = self._pending, []
            if leads:
                self._lead(led)
        finally:
            # Also when interrupted: nobody may wait for a leader that is gone.
            with self._turn:
                if request in self._pending:
                    self._pending.remove(request)
                if leads:
                    self._hand_over(led)
        return request.result()

    def _lead(self, led: list[_Request]) -> None:
        try:
            self.require_open()
            outcomes = self._commit([request.batch for request in led])
            with self._turn:
                for request, outcome in zip(led, outcomes, strict=True):
                    request.outcome = outcome
        except _FATAL as error:
            self.end(error)
            self._fail(led, error)
        except ArborError as error:
            self._fail(led, error)
        except OSError as error:
            self._fail(led, LogError(f"the log cannot be written: {error}"))

    def _fail(self, led: list[_Request], error: ArborError) -> None:
        with self._turn:
            for request in led:
                request.outcome = type(error)(*error.args)

    def _hand_over(self, led: list[_Request]) -> None:
        for request in led:
            if request.outcome is None:
                request.outcome = LogError("the append was interrupted: read the log, then repeat")
        self._is_led = False
        self._turn.notify_all()

    def require_open(self) -> None:
        """Raise the error that ended the log, if one did.

        Raises:
            LogError: the log is closed or its storage failed.
        """
        if self._end is not None:
            raise type(self._end)(*self._end.args)

    def end(self, error: LogError) -> None:
        """Take no more appends; the first reason stands."""
        with self._turn:
            if self._end is not None:
                return
            self._end = error
            self._turn.notify_all()
        self._on_end()

    def close(self) -> None:
        """Wait for appends on their way, then refuse later ones; closing twice is harmless."""
        with self._turn:
            self._turn.wait_for(lambda: not self._is_led and not self._pending)
        self.end(LogError("the log is closed: open it again to append"))
