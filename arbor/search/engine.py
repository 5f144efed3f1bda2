"""One interface for all search engines: ask for a point, tell its value."""

import math
from collections.abc import Sequence
from typing import Protocol

from arbor.events.errors import NotFoundError
from arbor.events.types import Edit, Parameter

Point = tuple[Edit, ...]
"""One value for every parameter of a space, in the order of the space."""


class Engine(Protocol):
    """Maximises a value over a typed space; all state can be rebuilt by telling it again."""

    name: str

    def ask(self) -> Point:
        """Return the next point to try."""
        ...

    def tell(self, point: Point, value: float | None) -> None:
        """Report the value of a point, asked for or not; None when the trial failed.

        Raises:
            ValueError: the point does not lie in the space, or the value is not finite.
        """
        ...

    def best(self) -> Point | None:
        """Return the best point told so far; None before a trial succeeded."""
        ...


def bounds(parameter: Parameter) -> tuple[float, float]:
    """Return the inclusive bounds of a number; an open end is 0 below and 1 above."""
    low = 0.0 if parameter.low is None else parameter.low
    high = 1.0 if parameter.high is None else parameter.high
    if parameter.kind == "int":
        return math.ceil(low), math.floor(high)
    return low, high


def check_told(space: Sequence[Parameter], point: Point, value: float | None) -> None:
    """Check what an engine is told.

    Raises:
        ValueError: the point does not lie in the space, or the value is not finite.
    """
    check_point(space, point)
    if value is not None and not math.isfinite(value):
        raise ValueError(f"value {value!r} is not finite; a failed trial is told as None")


def check_point(space: Sequence[Parameter], point: Point) -> None:
    """Check that a point lies in a space.

    Raises:
        ValueError: a key is missing or unknown, or a value is out of bounds.
    """
    keys = [edit.key for edit in point]
    if keys != [parameter.key for parameter in space]:
        raise ValueError(f"point has keys {keys}, space has {[p.key for p in space]}")
    for parameter, edit in zip(space, point, strict=True):
        if parameter.kind == "categorical":
            _check_choice(parameter, edit)
        else:
            _check_number(parameter, edit)


def _check_choice(parameter: Parameter, edit: Edit) -> None:
    # In Python True is 1; in a configuration it is not.
    if not any(type(c) is type(edit.value) and c == edit.value for c in parameter.choices):
        raise ValueError(f"{edit.key}={edit.value!r} is none of {parameter.choices}")


def _check_number(parameter: Parameter, edit: Edit) -> None:
    if (
        isinstance(edit.value, bool | str)
        or (parameter.low is not None and edit.value < parameter.low)
        or (parameter.high is not None and edit.value > parameter.high)
    ):
        raise ValueError(
            f"{edit.key}={edit.value!r} lies outside {parameter.low} .. {parameter.high}"
        )
    if parameter.kind == "int" and edit.value != int(edit.value):
        raise ValueError(f"{edit.key}={edit.value!r} is no whole number")


def create_engine(
    name: str, space: Sequence[Parameter], seed: int, first: Sequence[Point] = ()
) -> Engine:
    """Return a search engine by name.

    Args:
        name: registered name.
        space: the parameters.
        seed: equal seeds and tells give equal asks.
        first: points to ask for before the engine's own.

    Raises:
        NotFoundError: no engine has that name.
    """
    # Imported here so that a missing optional library only matters to those who use it.
    if name == "random":
        from arbor.search.random_search import RandomSearch  # noqa: PLC0415

        return RandomSearch(space, seed, first)
    if name == "tpe":
        from arbor.search.tpe import TpeSearch  # noqa: PLC0415

        return TpeSearch(space, seed, first)
    raise NotFoundError(f"no search engine {name!r}; known: random, tpe")
