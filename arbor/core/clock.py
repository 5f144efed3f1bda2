"""Clocks: the system's, and one that only moves when told to."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> datetime:
        """Return the current time, UTC."""
        ...

    def sleep(self, duration_s: float) -> None:
        """Let ``duration_s`` seconds pass."""
        ...


class SystemClock:
    """The machine's clock, never running backwards within one instance."""

    def __init__(self) -> None:
        self._start = datetime.now(UTC)
        self._start_ns = time.monotonic_ns()

    def now(self) -> datetime:
        """Return the time, from the monotonic clock since the instance was made."""
        elapsed_us = (time.monotonic_ns() - self._start_ns) // 1000
        return self._start + timedelta(microseconds=elapsed_us)

    def sleep(self, duration_s: float) -> None:
        """Let ``duration_s`` seconds pass."""
        time.sleep(max(0.0, duration_s))


class VirtualClock:
    """A clock for simulations: sleeping moves it, nothing else does."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """Return the virtual time."""
        return self._now

    def sleep(self, duration_s: float) -> None:
        """Move the virtual time by ``duration_s`` seconds."""
        self._now += timedelta(seconds=max(0.0, duration_s))
