"""Uniform random search, the control."""

from typing import ClassVar

from arbor.search.base import AskTell
from arbor.search.space import Point


class RandomSearch(AskTell):
    """Draws every parameter uniformly, on its own scale."""

    name: ClassVar[str] = "random"

    def _propose(self, number: int, attempt: int) -> Point:
        return self._space.draw_any(self._source(number, attempt))

    def _learn(self, point: Point, value: float | None) -> None:
        """Do nothing: chance does not listen."""
