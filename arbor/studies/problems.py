"""What the studies optimise: a space, a value to be maximised, and its optimum where known."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arbor.events.types import Parameter
from arbor.search.space import Point, Space, values_of


@dataclass(frozen=True, slots=True)
class Problem:
    """One function.

    Attributes:
        name: unique within a study.
        group: what it is counted with.
        space: numbers only.
        value: of the numbers in the order of the space; to be maximised.
        best_value: the optimum; None when nobody knows.
        best_numbers: where it lies; empty when nobody knows.
    """

    name: str
    group: str
    space: Space
    value: Callable[[Sequence[float]], float]
    best_value: float | None = None
    best_numbers: tuple[float, ...] = ()

    def evaluate(self, point: Point) -> float | None:
        """Return the value of a point; None where it is not finite, as a failed trial."""
        value = self.value([float(each) for each in values_of(point).values()])
        return value if math.isfinite(value) else None


def box(names: Sequence[str], low: float, high: float) -> Space:
    """Return a space of equal ranges."""
    return Space([Parameter(key=each, kind="float", low=low, high=high) for each in names])
