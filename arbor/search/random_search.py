"""Uniform random search, the control."""

import math
import random
from collections import deque
from collections.abc import Sequence

from arbor.events.types import Edit, Parameter, Scalar
from arbor.search.engine import Point, bounds, check_told


class RandomSearch:
    """Draws every parameter uniformly, on its own scale."""

    name = "random"

    def __init__(self, space: Sequence[Parameter], seed: int, first: Sequence[Point] = ()) -> None:
        self._space = tuple(space)
        self._random = random.Random(seed)  # noqa: S311 - a search, not a secret
        self._first = deque(first)
        self._best: tuple[float, Point] | None = None

    def ask(self) -> Point:
        """Return the next point to try."""
        if self._first:
            return self._first.popleft()
        return tuple(Edit(key=p.key, value=self._draw(p)) for p in self._space)

    def _draw(self, parameter: Parameter) -> Scalar:
        if parameter.kind == "categorical":
            return self._random.choice(parameter.choices)
        low, high = bounds(parameter)
        # Whole numbers at the ends get the same room as those between.
        margin = 0.5 if parameter.kind == "int" else 0.0
        if parameter.log:
            ends = math.log(low - margin), math.log(high + margin)
            value = math.exp(self._random.uniform(*ends))
        else:
            value = self._random.uniform(low - margin, high + margin)
        value = min(max(value, low), high)
        return round(value) if parameter.kind == "int" else value

    def tell(self, point: Point, value: float | None) -> None:
        """Report the value of a point; None when the trial failed.

        Raises:
            ValueError: the point does not lie in the space, or the value is not finite.
        """
        check_told(self._space, point, value)
        if value is not None and (self._best is None or value > self._best[0]):
            self._best = (value, point)

    def best(self) -> Point | None:
        """Return the best point told so far."""
        return None if self._best is None else self._best[1]
