"""Advisers without a model: controls, and stand-ins in studies and tests."""

import math
import random
from collections.abc import Callable, Sequence

from arbor.search.advice import Question, Told
from arbor.search.cube import Cube
from arbor.search.space import Point

_SMALLEST_STEP, _LARGEST_STEP = 0.01, 0.4
_NUM_ATTEMPTS = 40


class UniformAdviser:
    """Knows nothing: a uniform point in every turn."""

    name = "uniform"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def advise(self, question: Question) -> Sequence[Point]:
        """Return uniform points."""
        source = _source(self._seed, question.number)
        return [question.space.draw(source) for _ in range(question.num)]


class StuckAdviser:
    """Never learns: the corner of the space where every value is the lowest, in every turn.

    Where rules forbid it, the first uniform point that keeps them.
    """

    name = "stuck"

    def advise(self, question: Question) -> Sequence[Point]:
        """Return the same point again and again."""
        cube = Cube(question.space)
        point = cube.to_point([0.0] * cube.dimension)
        if question.space.problem(point):
            point = question.space.draw(_source(0, 0))
        return [point] * question.num


class EchoAdviser:
    """Says nothing new: the best trial again, in every turn."""

    name = "echo"

    def __init__(self, seed: int) -> None:
        self._uniform = UniformAdviser(seed)

    def advise(self, question: Question) -> Sequence[Point]:
        """Return the best point so far; uniform before a trial succeeded."""
        best = _best(question)
        return self._uniform.advise(question) if best is None else [best.point] * question.num


class MutatorAdviser:
    """Varies the parent by steps of any size; uniform without one, or around the best trial.

    Step sizes are drawn uniformly in their logarithm, so that some suit every landscape.
    """

    name = "mutator"

    def __init__(self, seed: int, *, varies_best: bool = False) -> None:
        self._seed = seed
        self._varies_best = varies_best

    def advise(self, question: Question) -> Sequence[Point]:
        """Return variations that were not tried, where there are such."""
        source = _source(self._seed, question.number)
        parent = question.parent
        if parent is None and self._varies_best:
            parent = _best(question)
        if parent is None:
            return [question.space.draw(source) for _ in range(question.num)]
        cube = Cube(question.space)
        centre = cube.to_vector(parent.point)
        floor = 3.0 * cube.smallest_steps()
        known = {told.point for told in question.history}
        points: list[Point] = []
        for _ in range(question.num):
            for _ in range(_NUM_ATTEMPTS):
                step = math.exp(source.uniform(math.log(_SMALLEST_STEP), math.log(_LARGEST_STEP)))
                moved = [
                    _reflected(c + max(step, low) * source.gauss(0.0, 1.0))
                    for c, low in zip(centre, floor, strict=True)
                ]
                point = cube.to_point(moved)
                if point not in known and not question.space.problem(point):
                    break
            else:
                point = question.space.draw(source)
            known.add(point)
            points.append(point)
        return points


class ScriptedAdviser:
    """Answers by a function: an analytic prior in studies, a script in tests."""

    def __init__(self, name: str, function: Callable[[Question], Sequence[Point]]) -> None:
        self.name = name
        self._function = function

    def advise(self, question: Question) -> Sequence[Point]:
        """Return what the function says."""
        return self._function(question)


def _best(question: Question) -> Told | None:
    worked = [told for told in question.history if told.value is not None]
    return max(worked, key=lambda told: told.value or 0.0, default=None)


def _source(seed: int, number: int) -> random.Random:
    return random.Random(f"{seed}:adviser:{number}")  # noqa: S311 - a search, not a secret


def _reflected(unit: float) -> float:
    """Return a coordinate folded back into the unit interval at its ends."""
    unit %= 2.0
    return 2.0 - unit if unit > 1.0 else unit
