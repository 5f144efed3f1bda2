"""What hybrid engines ask of an adviser, such as a language model, and what they accept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arbor.events.errors import ArborError
from arbor.search.space import Point, Space


class AdviceError(ArborError, ValueError):
    """An adviser's answer cannot be used; never replaced by something else in silence."""


@dataclass(frozen=True, slots=True)
class Told:
    """A trial.

    Attributes:
        point: that was tried.
        value: to be maximised; None when the trial failed.
    """

    point: Point
    value: float | None


@dataclass(frozen=True, slots=True)
class OptimiserView:
    """The state of an evolution strategy, in the coordinates of the unit cube.

    Attributes:
        mean: of its distribution.
        sigma: step size.
        covariance: of the steps, before ``sigma`` scales them; rows.
        suggestion: what it would try in this turn.
        coordinates: what each coordinate stands for.
    """

    mean: tuple[float, ...]
    sigma: float
    covariance: tuple[tuple[float, ...], ...]
    suggestion: Point
    coordinates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What an adviser is asked.

    Attributes:
        space: parameters and rules.
        history: all trials in the order of their results.
        number: of the turn, from 0; distinct for every turn of a search.
        num: points that are wanted.
        parent: trial whose variation is wanted; None: anything.
        optimiser: state of the strategy that shares the search; None without one.
    """

    space: Space
    history: Sequence[Told]
    number: int = 0
    num: int = 1
    parent: Told | None = None
    optimiser: OptimiserView | None = None


class Adviser(Protocol):
    """Proposes points from what was tried: a model, a rule, or a script in tests."""

    @property
    def name(self) -> str:
        """What records call it."""
        ...

    def advise(self, question: Question) -> Sequence[Point]:
        """Return ``question.num`` points of the space.

        Raises:
            AdviceError: it cannot; a failure is never hidden behind another point.
        """
        ...


def one_point(adviser: Adviser, question: Question) -> Point:
    """Return the point that an adviser proposes.

    Raises:
        AdviceError: it proposes none or several, or one that is not of the space.
    """
    points = adviser.advise(question)
    if len(points) != 1:
        raise AdviceError(f"adviser {adviser.name} gave {len(points)} points; 1 was asked for")
    (point,) = points
    try:
        question.space.check(point)
    except ValueError as error:
        raise AdviceError(f"adviser {adviser.name}: {error}") from error
    if problem := question.space.problem(point):
        raise AdviceError(f"adviser {adviser.name} broke a rule: {problem}")
    return point
