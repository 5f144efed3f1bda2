"""Points of a space as vectors of the unit cube, for engines that know nothing but numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arbor.events.types import Parameter, Scalar
from arbor.search.space import Point, Space, bounds, is_same, unit_of, value_at, values_of

Vector = npt.NDArray[np.float64]
_MAX_LEVELS = 1e6
"""Whole numbers with more values than this are as good as continuous."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Coordinates of one parameter: one, or one for each of unordered choices."""

    parameter: Parameter
    start: int
    size: int
    levels: float


def is_ordered(parameter: Parameter) -> bool:
    """Return whether neighbouring values are alike: numbers, rising choices, two choices."""
    if parameter.kind != "categorical" or len(parameter.choices) <= 2:
        return True
    numbers = [c for c in parameter.choices if not isinstance(c, bool | str)]
    return len(numbers) == len(parameter.choices) and numbers == sorted(set(numbers))


class Cube:
    """Maps points to vectors and back.

    A number or an ordered choice is one coordinate; every other choice has one coordinate for
    each value, of which the largest is taken. What does not exist in a point lies in the middle.

    Attributes:
        dimension: number of coordinates.
        names: what each coordinate stands for.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._spans: list[_Span] = []
        names: list[str] = []
        for parameter in space:
            values = parameter.choices if not is_ordered(parameter) else ()
            size = len(values) or 1
            span = _Span(parameter, len(names), size, _num_levels(parameter))
            self._spans.append(span)
            names += [f"{parameter.key}={v}" for v in values] or [parameter.key]
        self.names = tuple(names)
        self.dimension = len(names)

    def to_point(self, vector: Sequence[float] | Vector) -> Point:
        """Return the point at a vector; coordinates beyond the cube are moved to its faces."""
        units = [min(max(float(each), 0.0), 1.0) for each in vector[: self.dimension]]
        values: dict[str, Scalar] = {}
        for span in self._spans:
            part = units[span.start : span.start + span.size]
            parameter = span.parameter
            values[parameter.key] = (
                value_at(parameter, part[0])
                if span.size == 1
                else parameter.choices[part.index(max(part))]
            )
        return self._space.point(values)

    def to_vector(self, point: Point) -> Vector:
        """Return a vector at which the point lies: the middle of what maps to it."""
        vector = np.full(self.dimension, 0.5)
        values = values_of(point)
        for span in self._spans:
            parameter = span.parameter
            if parameter.key not in values:
                continue
            value = values[parameter.key]
            if span.size == 1:
                vector[span.start] = unit_of(parameter, value)
                continue
            for number, choice in enumerate(parameter.choices):
                vector[span.start + number] = 0.8 if is_same(choice, value) else 0.2
        return vector

    def smallest_steps(self) -> Vector:
        """Return for each coordinate the deviation that still reaches another value; 0: any."""
        steps = np.zeros(self.dimension)
        for span in self._spans:
            if span.levels < _MAX_LEVELS:
                steps[span.start : span.start + span.size] = 0.2 / span.levels
        return steps


def _num_levels(parameter: Parameter) -> float:
    if parameter.kind == "categorical":
        return float(max(2, len(parameter.choices))) if is_ordered(parameter) else 2.0
    if parameter.kind == "float":
        return float("inf")
    low, high = bounds(parameter)
    return max(2.0, high - low + 1)
