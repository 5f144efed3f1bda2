"""How a search moved: best step, coverage, path length, coherence. Pure."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

NUM_BINS = 10
"""Cells along each coordinate when coverage is counted."""

Units = Sequence[Sequence[float]]
"""Points in the unit cube, in the order in which they were tried."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Figures of one search.

    Attributes:
        best_value: reached; None when every trial failed.
        best_step: trial, from 1, that reached it; 0 when none did.
        coverage: cells visited over those that so many points could visit, over all pairs of
            coordinates.
        path_length: mean step over the diagonal of the cube.
        coherence: net displacement over the length of the path; 1 is a straight line.
    """

    best_value: float | None
    best_step: int
    coverage: float
    path_length: float
    coherence: float


def describe(units: Units, values: Sequence[float | None]) -> Trajectory:
    """Return the figures of a search.

    Raises:
        ValueError: there is not one value for every point.
    """
    if len(units) != len(values):
        raise ValueError(f"{len(units)} points and {len(values)} values cannot be paired")
    worked = [(value, -step) for step, value in enumerate(values, 1) if value is not None]
    best = max(worked, default=None)
    steps = [math.dist(a, b) for a, b in itertools.pairwise(units)]
    length = math.fsum(steps)
    net = math.dist(units[0], units[-1]) if units else 0.0
    diagonal = math.sqrt(len(units[0])) if units and units[0] else 1.0
    return Trajectory(
        best_value=None if best is None else best[0],
        best_step=0 if best is None else -best[1],
        coverage=coverage(units),
        path_length=length / (len(steps) * diagonal) if steps else 0.0,
        coherence=net / length if length > 0 else 0.0,
    )


def coverage(units: Units) -> float:
    """Return the share of cells visited, out of those that so many points could visit."""
    if not units:
        return 0.0
    size = len(units[0])
    planes = list(itertools.combinations(range(size), 2)) or [(0, 0)]
    possible = min(len(units), NUM_BINS ** min(2, size))
    shares = [len({(_bin(u[a]), _bin(u[b])) for u in units}) / possible for a, b in planes]
    return math.fsum(shares) / len(shares)


def _bin(unit: float) -> int:
    return min(int(unit * NUM_BINS), NUM_BINS - 1)
