"""One interface for all search engines: ask for a point, tell its value."""

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
            ValueError: the point does not lie in the space.
        """
        ...

    def best(self) -> Point | None:
        """Return the best point told so far; None before a trial succeeded."""
        ...


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
            if edit.value not in parameter.choices:
                raise ValueError(f"{edit.key}={edit.value!r} is none of {parameter.choices}")
        elif (
            isinstance(edit.value, bool | str)
            or (parameter.low is not None and edit.value < parameter.low)
            or (parameter.high is not None and edit.value > parameter.high)
        ):
            raise ValueError(
                f"{edit.key}={edit.value!r} lies outside {parameter.low} .. {parameter.high}"
            )


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
