"""Two servers in turns of milliseconds: while one works, the other is stopped.

Neighbours on a host come and go within seconds. Windows of seconds that follow each other see
different machines; in turns of milliseconds both arms see the same one.
"""

import os
import signal
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from arbor.targets.child import ChildProcess

SETTLE_S = 0.001
"""The client reads what a server sent before it was stopped; this is in nobody's turn."""

Timeline = Callable[[float], float]
"""Maps ``time.perf_counter()`` to the seconds that count for a window."""


def wall(when_s: float) -> float:
    """Return the time as it is: every second counts."""
    return when_s


class ActiveClock:
    """Time that stands still while its server is stopped; a ``Timeline``."""

    def __init__(self) -> None:
        self._begins: list[float] = []
        self._ends: list[float] = []
        self._before: list[float] = []
        """Active seconds before each turn."""

    def begin(self, now_s: float) -> None:
        """Start a turn."""
        self._before.append(self(now_s))
        self._begins.append(now_s)

    def end(self, now_s: float) -> None:
        """End the turn."""
        self._ends.append(now_s)

    def __call__(self, when_s: float) -> float:
        """Return the active seconds until a moment, of turns that have begun by now."""
        turn = bisect_right(self._begins, when_s) - 1
        if turn < 0:
            return 0.0
        end_s = self._ends[turn] if turn < len(self._ends) else when_s
        return self._before[turn] + min(when_s, end_s) - self._begins[turn]


@dataclass(frozen=True, slots=True)
class Turn:
    """One arm of a pair that is played in turns.

    Attributes:
        child: its server.
        slice_s: seconds of one turn.
        is_done: set when its windows have ended.
        clock: its active time.
    """

    child: ChildProcess
    slice_s: float
    is_done: threading.Event = field(default_factory=threading.Event)
    clock: ActiveClock = field(default_factory=ActiveClock)


def take_turns(first: Turn, second: Turn) -> None:
    """Let two servers work in turns until both are done; both run afterwards.

    What is left of one when the other is done runs without a break. A server is stopped with all
    that it has started until now: a process that works for it beside its turns would be a cheat.
    """
    pair = _Stoppable(first), _Stoppable(second)
    for each in pair:
        each.stop()
    try:
        while not all(each.turn.is_done.is_set() for each in pair):
            for each, other in (pair, pair[::-1]):
                if not each.turn.is_done.is_set():
                    each.take(is_last=other.turn.is_done.is_set())
    finally:
        for each in pair:
            each.resume()


class _Stoppable:
    """A server's processes, listed once: that takes milliseconds."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._pids = turn.child.pids()

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for pid in self._pids:
            # it may have ended
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def take(self, *, is_last: bool) -> None:
        # The clock runs before the server does: nothing that it does is in nobody's time.
        self.turn.clock.begin(time.perf_counter())
        self.resume()
        self.turn.is_done.wait(None if is_last else self.turn.slice_s)
        self.stop()
        self.turn.clock.end(time.perf_counter())
        time.sleep(SETTLE_S)
