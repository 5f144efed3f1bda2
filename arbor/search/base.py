"""What all engines share: first points, pending points, history, the best, rules.

An ask depends on the seed, on what was told and on how many points are pending, never on earlier
asks themselves. So an engine is restored by telling it again, without asking.
"""

import math
import random
from abc import ABC, abstractmethod
from collections import Counter, deque
from dataclasses import dataclass
from typing import ClassVar

from arbor.search.advice import Adviser, Told
from arbor.search.space import Point, Space

DEFAULT_BUDGET = 100
_NUM_ATTEMPTS = 50
"""Proposals of an engine that may break the rules before a uniform point takes their place."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What an engine is made from.

    Attributes:
        space: parameters and rules.
        seed: equal seeds and tells give equal asks.
        first: points to ask for before the engine's own.
        budget: trials that are planned.
        adviser: whom hybrid engines ask.
    """

    space: Space
    seed: int
    first: tuple[Point, ...] = ()
    budget: int = DEFAULT_BUDGET
    adviser: Adviser | None = None


class AskTell(ABC):
    """Keeps the books of an engine; subclasses propose and learn."""

    name: ClassVar[str]

    def __init__(self, setup: Setup) -> None:
        self._space = setup.space
        self._seed = setup.seed
        self._first = deque(setup.first)
        self._pending: Counter[Point] = Counter()
        self._told: list[Told] = []
        self._best: tuple[float, Point] | None = None

    def ask(self) -> Point:
        """Return the next point to try.

        Raises:
            InvalidInputError: no point keeps the rules of the space.
            AdviceError: an adviser gave no point of the space; nothing was counted.
        """
        point = self._first.popleft() if self._first else self._propose_within_rules()
        self._pending[point] += 1
        return point

    def tell(self, point: Point, value: float | None) -> None:
        """Report the value of a point; None when the trial failed.

        Raises:
            ValueError: the point does not lie in the space, or the value is not finite.
        """
        self._space.check(point)
        if value is not None and not math.isfinite(value):
            raise ValueError(f"value {value!r} is not finite; a failed trial is told as None")
        was_asked = self._pending[point] > 0
        if was_asked:
            self._pending[point] -= 1
        if not self._pending[point]:
            del self._pending[point]
        if not was_asked:
            if point in self._first:
                self._first.remove(point)
            else:
                self._recognise(point)
        self._learn(point, value)
        if value is not None and (self._best is None or value > self._best[0]):
            self._best = (value, point)
        self._told.append(Told(point, value))

    def best(self) -> Point | None:
        """Return the best point told so far."""
        return None if self._best is None else self._best[1]

    @property
    def history(self) -> tuple[Told, ...]:
        """Everything told, in its order."""
        return tuple(self._told)

    @property
    def num_turns(self) -> int:
        """Trials told and pending: the number of the next turn, from 0."""
        return len(self._told) + self._pending.total()

    def _source(self, *numbers: int) -> random.Random:
        """Return a source of chance that depends on the seed and some numbers alone."""
        key = ":".join(str(number) for number in (self._seed, *numbers))
        return random.Random(key)  # noqa: S311 - a search, not a secret

    def _propose_within_rules(self) -> Point:
        number = self.num_turns
        for attempt in range(_NUM_ATTEMPTS):
            point = self._propose(number, attempt)
            if not self._space.problem(point):
                return point
        return self._space.draw(self._source(number, _NUM_ATTEMPTS))

    @abstractmethod
    def _propose(self, number: int, attempt: int) -> Point:
        """Return a point for a turn; further attempts follow where one broke the rules."""

    @abstractmethod
    def _learn(self, point: Point, value: float | None) -> None:
        """Take in a result; history and best are still those before it."""

    def _recognise(self, point: Point) -> None:  # noqa: B027 - most engines need not hear of it
        """Hear of a point that is told without having been asked for, before it is learnt."""
