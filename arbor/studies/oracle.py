"""Advisers of the function study: controls, and a stand-in that knows roughly where to look."""

import random
from collections.abc import Callable, Mapping, Sequence

from arbor.search.advice import Adviser, Question
from arbor.search.advisers import EchoAdviser, MutatorAdviser, StuckAdviser, UniformAdviser
from arbor.search.cube import Cube
from arbor.search.space import Point
from arbor.studies.plugins import load
from arbor.studies.problems import Problem

NEAR = "near"
_ERROR = 0.1
"""Deviation of its knowledge, as a share of each range."""
SHIPPED: Mapping[str, Callable[[int], Adviser]] = {
    "uniform": UniformAdviser,
    "echo": EchoAdviser,
    "stuck": lambda _: StuckAdviser(),
    "mutator": lambda seed: MutatorAdviser(seed, varies_best=True),
}


class NearAdviser:
    """Knows the optimum up to an error: a dense prior, by construction. It is no model.

    Where nobody knows the optimum, it varies the best trial.
    """

    name = NEAR

    def __init__(self, problem: Problem, seed: int) -> None:
        self._problem = problem
        self._seed = seed

    def advise(self, question: Question) -> Sequence[Point]:
        """Return points around the optimum."""
        if not self._problem.best_numbers:
            return MutatorAdviser(self._seed, varies_best=True).advise(question)
        key = f"{self._seed}:{self._problem.name}:{question.number}"
        source = random.Random(key)  # noqa: S311 - a study, not a secret
        keys = [parameter.key for parameter in question.space]
        best = question.space.point(dict(zip(keys, self._problem.best_numbers, strict=True)))
        cube = Cube(question.space)
        units = cube.to_vector(best)
        return [
            cube.to_point([unit + source.gauss(0.0, _ERROR) for unit in units])
            for _ in range(question.num)
        ]


def adviser_for(text: str, problem: Problem, seed: int) -> Adviser:
    """Return an adviser by name.

    Raises:
        NotFoundError: nothing has that name.
        InvalidInputError: it cannot be imported.
    """
    if text == NEAR:
        return NearAdviser(problem, seed)
    return load(text, {**SHIPPED, NEAR: UniformAdviser}, "adviser", seed)
