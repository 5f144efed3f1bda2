"""What other processes on the machine do to the meaning of a claim."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Protocol

from arbor.events.types import WindowSample

TOLERATED_RATIO = 0.12
"""Foreign share of the cores that moves no ratio: the system's own and the observer's."""
SENSITIVITY = 0.12
"""Deviation of a log ratio per unit of it and of foreign load.

A stack of 7.6x was 11 % and 20 % slower over its baseline with 77 % and 87 % of two cores taken
(7 % and 12 % of its log ratio): threads that wait for each other lose more than others."""


class Pair(Protocol):
    """Adjacent windows of two arms, recorded or only played."""

    @property
    def is_valid(self) -> bool:
        """Whether the pair counts."""
        ...

    @property
    def candidate(self) -> WindowSample:
        """First window of the candidate."""
        ...

    @property
    def incumbent(self) -> WindowSample:
        """First window of the incumbent."""
        ...


def foreign_ratio(pairs: Iterable[Pair]) -> float:
    """Return the mean share of the cores that other processes took during the valid pairs."""
    seen = [
        window.foreign_cpu_ratio
        for pair in pairs
        if pair.is_valid
        for window in (pair.candidate, pair.incumbent)
        if window.foreign_cpu_ratio is not None
    ]
    return statistics.fmean(seen) if seen else 0.0


def load_sd(foreign: float, mean_log_ratio: float) -> float:
    """Return how far a log ratio may lie from that of a quiet machine, as a deviation.

    Load that both arms see alike cancels out of the noise, but not out of the effect itself.

    Args:
        foreign: share of the cores that other processes took.
        mean_log_ratio: the measured effect.
    """
    return SENSITIVITY * max(0.0, foreign - TOLERATED_RATIO) * abs(mean_log_ratio)


def load_flaw(
    candidate: Sequence[WindowSample],
    incumbent: Sequence[WindowSample],
    max_foreign_cpu_difference: float,
) -> str | None:
    """Return why a pair does not count, judged by load alone and never by its ratio.

    Load that both arms saw alike cancels out of the ratio; load on one arm does not.
    """
    seen = [
        max(window.foreign_cpu_ratio or 0.0 for window in windows)
        for windows in (candidate, incumbent)
    ]
    if abs(seen[0] - seen[1]) <= max_foreign_cpu_difference:
        return None
    return f"foreign processes took {seen[0]:.0%} and {seen[1]:.0%} of the cores"
