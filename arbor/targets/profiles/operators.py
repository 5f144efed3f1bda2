"""Time that nested operators of a processor's threads took themselves, without their children."""

from array import array
from collections.abc import Hashable

import numpy as np

from arbor.targets.profiles.categories import operator_category
from arbor.targets.profiles.timeline import Timeline


class _Thread:
    """Operators of one thread in the order of the file."""

    def __init__(self) -> None:
        self.starts = array("d")
        self.ends = array("d")
        self.names = array("l")


class OperatorTimeline:
    """Collects operators that call each other."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._threads: dict[Hashable, _Thread] = {}

    def add(self, name: str, start_s: float, end_s: float, thread: Hashable) -> None:
        """Take one operator; the order does not matter."""
        own = self._threads.setdefault(thread, _Thread())
        own.starts.append(start_s)
        own.ends.append(end_s)
        own.names.append(self._names.setdefault(name, len(self._names)))

    def exclusive(self) -> Timeline:
        """Return the pieces of time in which each operator was the innermost one."""
        timeline = Timeline(operator_category)
        names = list(self._names)
        for thread, own in self._threads.items():
            _add_innermost(timeline, own, names, thread)
        return timeline


def _add_innermost(
    timeline: Timeline, thread: _Thread, names: list[str], stream: Hashable
) -> None:
    starts, ends = np.asarray(thread.starts), np.asarray(thread.ends)
    # of operators that start together the longest is the outermost
    order = np.lexsort((-ends, starts))
    open_names: list[str] = []
    open_ends: list[float] = []
    reached_s = float("-inf")

    def leave(until_s: float) -> None:
        """Close the operators that end by a moment."""
        nonlocal reached_s
        while open_ends and open_ends[-1] <= until_s:
            end_s, name = open_ends.pop(), open_names.pop()
            if end_s > reached_s:
                timeline.add(name, reached_s, end_s, stream, num_calls=0)
                reached_s = end_s

    for index in order:
        start_s, end_s = float(starts[index]), float(ends[index])
        leave(start_s)
        if open_ends and start_s > reached_s:
            timeline.add(open_names[-1], reached_s, start_s, stream, num_calls=0)
        reached_s = max(reached_s, start_s)
        name = names[thread.names[int(index)]]
        # counts the call, takes no time itself
        timeline.add(name, start_s, start_s, stream)
        open_names.append(name)
        # clocks of nested operators may disagree by a tick
        open_ends.append(min(end_s, open_ends[-1]) if open_ends else end_s)
    leave(float("inf"))
