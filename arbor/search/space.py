"""Typed search spaces: numbers, choices, parameters that depend on others, and rules."""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from arbor.events.errors import InvalidInputError
from arbor.events.types import Edit, Parameter, Scalar

Point = tuple[Edit, ...]
"""One value for every parameter that exists, in the order of the space."""

_MAX_DRAWS = 10_000
"""Uniform draws after which a space is taken to hold no point that keeps its rules."""


class Rule(Protocol):
    """What the values of a point must keep to, together."""

    def problem(self, values: Mapping[str, Scalar]) -> str:
        """Return what is wrong with the values; empty when nothing is."""
        ...


@dataclass(frozen=True, slots=True)
class AtMost:
    """The sum or product of some numbers is bounded; absent ones do not count.

    Attributes:
        keys: of the numbers.
        limit: inclusive.
        how: what is bounded.
    """

    keys: tuple[str, ...]
    limit: float
    how: Literal["sum", "product"] = "product"

    def problem(self, values: Mapping[str, Scalar]) -> str:
        """Return what is wrong with the values; empty when nothing is."""
        numbers = [float(values[key]) for key in self.keys if key in values]
        found = math.fsum(numbers) if self.how == "sum" else math.prod(numbers)
        if found <= self.limit:
            return ""
        return f"the {self.how} of {', '.join(self.keys)} is {found:g}, above {self.limit:g}"

    def __str__(self) -> str:
        return f"the {self.how} of {', '.join(self.keys)} is at most {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Ordered:
    """One number is not larger than another; kept where one of them is absent.

    Attributes:
        smaller: its key.
        larger: the key of the other.
    """

    smaller: str
    larger: str

    def problem(self, values: Mapping[str, Scalar]) -> str:
        """Return what is wrong with the values; empty when nothing is."""
        if self.smaller not in values or self.larger not in values:
            return ""
        low, high = float(values[self.smaller]), float(values[self.larger])
        return "" if low <= high else f"{self.smaller}={low:g} exceeds {self.larger}={high:g}"

    def __str__(self) -> str:
        return f"{self.smaller} is at most {self.larger}"


@dataclass(frozen=True, slots=True)
class Custom:
    """A rule of the caller's own, such as the shared memory that a kernel may take.

    Attributes:
        function: pure; returns what is wrong with the values.
    """

    function: Callable[[Mapping[str, Scalar]], str]

    def problem(self, values: Mapping[str, Scalar]) -> str:
        """Return what is wrong with the values; empty when nothing is."""
        return self.function(values)

    def __str__(self) -> str:
        return (self.function.__doc__ or self.function.__name__).strip().splitlines()[0]


class Space:
    """Parameters and rules.

    Attributes:
        parameters: those that others depend on come first.
        rules: what values must keep to together.
        is_plain: every parameter always exists.
    """

    def __init__(self, parameters: Sequence[Parameter], rules: Sequence[Rule] = ()) -> None:
        """Check that the parameters make a space.

        Raises:
            InvalidInputError: a parameter has no value, depends on one that does not come before
                it, or two have one key.
        """
        self.parameters = tuple(parameters)
        self.rules = tuple(rules)
        self.is_plain = not any(parameter.when for parameter in self.parameters)
        self._check()

    @classmethod
    def of(cls, space: "Space | Sequence[Parameter]") -> "Space":
        """Return a space as it is, or of parameters without rules."""
        return space if isinstance(space, Space) else cls(space)

    def _check(self) -> None:
        known: set[str] = set()
        for parameter in self.parameters:
            if parameter.key in known:
                raise InvalidInputError(f"the space names {parameter.key} twice; once is right")
            if strange := [each.key for each in parameter.when if each.key not in known]:
                raise InvalidInputError(
                    f"{parameter.key} depends on {strange[0]}, which must come before it"
                )
            known.add(parameter.key)
            _check_parameter(parameter)

    def existing(self, values: Mapping[str, Scalar]) -> tuple[Parameter, ...]:
        """Return the parameters that exist beside the values of those that others depend on."""
        if self.is_plain:
            return self.parameters
        return tuple(p for p in self.parameters if exists(p, values))

    def point(self, values: Mapping[str, Scalar]) -> Point:
        """Return a point from values by key; those that do not exist are left out."""
        kept: dict[str, Scalar] = {}
        for parameter in self.parameters:
            if exists(parameter, kept):
                kept[parameter.key] = values[parameter.key]
        return tuple(Edit(key=key, value=value) for key, value in kept.items())

    def check(self, point: Point) -> None:
        """Check that a point lies in the space; its rules are not asked.

        Raises:
            ValueError: a key is missing or unknown, or a value is out of bounds.
        """
        values = values_of(point)
        parameters = self.existing(values)
        keys = [edit.key for edit in point]
        if keys != [parameter.key for parameter in parameters]:
            raise ValueError(f"point has keys {keys}, space has {[p.key for p in parameters]}")
        for parameter, edit in zip(parameters, point, strict=True):
            check_value(parameter, edit.value)

    def problem(self, point: Point) -> str:
        """Return which rule a point breaks; empty when it keeps all."""
        if not self.rules:
            return ""
        values = values_of(point)
        return next((text for rule in self.rules if (text := rule.problem(values))), "")

    def draw(self, source: random.Random) -> Point:
        """Return a point whose every value is uniform on its own scale and that keeps the rules.

        Raises:
            InvalidInputError: none of many draws kept the rules.
        """
        for _ in range(_MAX_DRAWS):
            point = self.draw_any(source)
            if not self.problem(point):
                return point
        raise InvalidInputError(
            f"none of {_MAX_DRAWS} random points keeps the rules ({self.problem(point)});"
            " loosen the rules or narrow the ranges"
        )

    def draw_any(self, source: random.Random) -> Point:
        """Return a point whose every value is uniform on its own scale; rules are not asked."""
        return self.point({p.key: value_at(p, source.random()) for p in self.parameters})

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def with_rules(self, *rules: Rule) -> Self:
        """Return the space with further rules."""
        return type(self)(self.parameters, (*self.rules, *rules))


def values_of(point: Point) -> dict[str, Scalar]:
    """Return the values of a point by key."""
    return {edit.key: edit.value for edit in point}


def exists(parameter: Parameter, values: Mapping[str, Scalar]) -> bool:
    """Return whether a parameter exists beside the values of the earlier ones."""
    return all(
        each.key in values and any(is_same(values[each.key], value) for value in each.any_of)
        for each in parameter.when
    )


def is_same(first: Scalar, second: Scalar) -> bool:
    """Return whether two values are one: in Python True is 1, in a configuration it is not."""
    return type(first) is type(second) and first == second


def bounds(parameter: Parameter) -> tuple[float, float]:
    """Return the inclusive bounds of a number; an open end is 0 below and 1 above."""
    low = 0.0 if parameter.low is None else parameter.low
    high = 1.0 if parameter.high is None else parameter.high
    if parameter.kind == "int":
        return math.ceil(low), math.floor(high)
    return low, high


def value_at(parameter: Parameter, unit: float) -> Scalar:
    """Return the value at a place of the unit interval, on the parameter's own scale.

    Every whole number and every choice takes an equal part of the (logarithmic) interval.
    """
    if parameter.kind == "categorical":
        num = len(parameter.choices)
        return parameter.choices[min(int(unit * num), num - 1)]
    low, high = bounds(parameter)
    # Whole numbers at the ends get the same room as those between.
    margin = 0.5 if parameter.kind == "int" else 0.0
    if parameter.log:
        start, end = math.log(low - margin), math.log(high + margin)
        value = math.exp(start + unit * (end - start))
    else:
        value = low - margin + unit * (high - low + 2 * margin)
    value = min(max(value, low), high)
    return round(value) if parameter.kind == "int" else value


def unit_of(parameter: Parameter, value: Scalar) -> float:
    """Return the place in the unit interval at which a value lies; the middle of its part."""
    if parameter.kind == "categorical":
        return (_index(parameter, value) + 0.5) / len(parameter.choices)
    low, high = bounds(parameter)
    margin = 0.5 if parameter.kind == "int" else 0.0
    number = float(value)
    if parameter.log:
        start, end = math.log(low - margin), math.log(high + margin)
        number = math.log(number)
    else:
        start, end = low - margin, high + margin
    return min(max((number - start) / (end - start), 0.0), 1.0) if end > start else 0.5


def _index(parameter: Parameter, value: Scalar) -> int:
    return next(n for n, each in enumerate(parameter.choices) if is_same(each, value))


def check_value(parameter: Parameter, value: Scalar) -> None:
    """Check that a parameter may hold a value.

    Raises:
        ValueError: it is no choice, out of bounds, or of another type.
    """
    if parameter.kind == "categorical":
        if not any(is_same(each, value) for each in parameter.choices):
            raise ValueError(f"{parameter.key}={value!r} is none of {parameter.choices}")
        return
    if (
        isinstance(value, bool | str)
        or not math.isfinite(value)
        or (parameter.low is not None and value < parameter.low)
        or (parameter.high is not None and value > parameter.high)
    ):
        raise ValueError(
            f"{parameter.key}={value!r} lies outside {parameter.low} .. {parameter.high}"
        )
    if parameter.kind == "int" and value != int(value):
        raise ValueError(f"{parameter.key}={value!r} is no whole number")


def _check_parameter(parameter: Parameter) -> None:
    if parameter.kind == "categorical":
        if not parameter.choices:
            raise InvalidInputError(f"{parameter.key} has no choices; one at least is needed")
        return
    low, high = bounds(parameter)
    if low > high:
        raise InvalidInputError(f"{parameter.key} has no value between {low:g} and {high:g}")
    margin = 0.5 if parameter.kind == "int" else 0.0
    if parameter.log and low - margin <= 0:
        raise InvalidInputError(f"{parameter.key} is logarithmic and must be above {margin:g}")
