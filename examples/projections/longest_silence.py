"""The longest time that each actor said nothing, between two of its events."""

from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar

from arbor.events.base import Recorded
from arbor.replay.projections.base import PythonProjection


class LongestSilence(PythonProjection):
    """The longest time that each actor said nothing."""

    name: ClassVar[str] = "longest_silence"
    columns: ClassVar[dict[str, str]] = {"actor": "VARCHAR", "silence_s": "DOUBLE"}

    def __init__(self) -> None:
        self._last: dict[str, datetime] = {}
        self._longest_s: dict[str, float] = {}

    def apply(self, recorded: Recorded) -> None:
        """Compare with the actor's event before."""
        before = self._last.get(recorded.actor, recorded.recorded_at)
        silence_s = (recorded.recorded_at - before).total_seconds()
        self._longest_s[recorded.actor] = max(silence_s, self._longest_s.get(recorded.actor, 0.0))
        self._last[recorded.actor] = recorded.recorded_at

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield one row an actor."""
        yield from self._longest_s.items()
