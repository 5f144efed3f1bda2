"""CMA-ES, by the library ``cma``, one point at a time and told in any order.

A generation's own candidates are drawn when the generation begins, from chance that depends on
the seed and its number alone. So results that are told after a restart are recognised, and the
next generation is the same as if they had been asked for.
"""

import math
import random
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arbor.search.advice import OptimiserView
from arbor.search.cube import Cube, Vector
from arbor.search.space import Point, Space

with warnings.catch_warnings():
    # It remarks that it could not draw without matplotlib.
    warnings.simplefilter("ignore")
    import cma

_NUM_REDRAWS = 30
"""Draws of a candidate that may break the rules before it is kept to be skipped."""
_MAX_POPULATION = 200


@dataclass(frozen=True, slots=True)
class CmaSettings:
    """How the strategy starts.

    Attributes:
        sigma: first step size, as a share of each range.
        population_ratio: size of a generation over the library's ``4 + 3 ln(dimension)``.
    """

    sigma: float = 0.25
    population_ratio: float = 1.0


_Result = tuple[float | None, Vector]
"""Value, None where the trial failed, and vector."""


@dataclass(slots=True)
class _Candidate:
    point: Point
    vector: Vector
    is_out: bool = False
    is_told: bool = False
    value: float | None = None


@dataclass(slots=True)
class _Generation:
    own: list[_Candidate]
    """As many as the population has; then those drawn since all of these were out."""
    foreign: list[_Result] = field(default_factory=list)
    """Results of points that are not its own."""


class EvolutionStrategy:
    """The state of a CMA-ES run, with restarts of twice the population when it has converged.

    A result of a point that is not its own is injected at the end of the generation, in place of
    its worst own one, if it is among the better half; the library shortens such steps. So a good
    point from elsewhere moves the distribution, and a bad or a known one changes nothing.
    """

    def __init__(self, space: Space, seed: int, settings: CmaSettings | None = None) -> None:
        self._space = space
        self._seed = seed
        self._settings = settings or CmaSettings()
        self._cube = Cube(space)
        self._num_generations = 0
        self._num_restarts = 0
        self._chance = np.random.default_rng(0)
        self._strategy = self._start()
        self._generation: _Generation | None = None
        self._seen: set[Point] = set()

    def suggestion(self) -> Point:
        """Return what would be tried next; it stays the next until it is taken."""
        return self._next().point

    def take(self) -> Point:
        """Return the next point to try, which is then out."""
        candidate = self._next()
        candidate.is_out = True
        return candidate.point

    def learn(self, point: Point, value: float | None) -> bool:
        """Take in a result; a generation ends when all of its own are told.

        Returns:
            Whether the point was one of the generation's own.
        """
        generation = self._current()
        candidate = _find(generation.own, point)
        if candidate is not None:
            candidate.is_out = candidate.is_told = True
            candidate.value = value
        elif point not in self._seen:
            # Told twice, a good point would shrink the distribution around itself.
            generation.foreign.append((value, self._padded(self._cube.to_vector(point))))
        self._seen.add(point)
        self._end_if_complete(generation)
        return candidate is not None

    def view(self) -> OptimiserView:
        """Return the state as an adviser sees it."""
        suggestion = self.suggestion()
        size = self._cube.dimension
        covariance = np.asarray(self._strategy.sm.covariance_matrix)[:size, :size]
        return OptimiserView(
            mean=tuple(float(each) for each in self._mean()[:size]),
            sigma=float(self._strategy.sigma),
            covariance=tuple(tuple(float(each) for each in row) for row in covariance),
            suggestion=suggestion,
            coordinates=self._cube.names,
        )

    @property
    def population(self) -> int:
        """Own candidates of a generation."""
        return int(self._strategy.popsize)

    def _mean(self) -> Vector:
        mean = self._strategy.boundary_handler.repair(np.array(self._strategy.mean))
        return np.asarray(mean, dtype=np.float64)

    def _start(self) -> Any:
        # The library knows no spaces of one dimension; the second one has no effect.
        size = max(2, self._cube.dimension)
        default = 4 + int(3 * np.log(size))
        population = round(default * self._settings.population_ratio) * 2**self._num_restarts
        centre = np.full(size, 0.5)
        if self._num_restarts:
            chance = np.random.default_rng((_positive(self._seed), 1, self._num_restarts))
            centre = chance.uniform(0.05, 0.95, size)
        options = {
            "bounds": [0.0, 1.0],
            "popsize": max(4, min(population, _MAX_POPULATION)),
            "randn": lambda *shape: self._chance.standard_normal(shape),
            # nan leaves NumPy's own state alone
            "seed": np.nan,
            "minstd": self._padded(self._cube.smallest_steps(), 0.0),
            "verbose": -9,
        }
        return cma.CMAEvolutionStrategy(centre, self._settings.sigma, options)

    def _padded(self, vector: Vector, value: float = 0.5) -> Vector:
        missing = max(0, 2 - len(vector))
        return np.concatenate([vector, np.full(missing, value)])

    def _current(self) -> _Generation:
        if self._generation is None:
            key = (_positive(self._seed), 0, self._num_generations)
            self._chance = np.random.default_rng(key)
            vectors = self._strategy.ask()
            self._generation = _Generation([self._candidate(each) for each in vectors])
        return self._generation

    def _candidate(self, vector: Vector) -> _Candidate:
        point = self._cube.to_point(vector)
        for _ in range(_NUM_REDRAWS if self._space.rules else 0):
            if not self._space.problem(point):
                break
            (vector,) = self._strategy.ask(number=1)
            point = self._cube.to_point(vector)
        candidate = _Candidate(point, vector)
        if self._space.problem(point):
            # Told as failed: the distribution moves away from where rules are broken.
            candidate.is_out = candidate.is_told = True
        return candidate

    def _next(self) -> _Candidate:
        generation = self._current()
        while all(each.is_out for each in generation.own):
            if all(each.is_told for each in generation.own[: self.population]):
                # Every candidate broke the rules: a new generation is drawn.
                self._end(generation)
                generation = self._current()
                if all(each.is_told for each in generation.own):
                    return self._anywhere(generation)
                continue
            (vector,) = self._strategy.ask(number=1)
            generation.own.append(self._candidate(vector))
        return next(each for each in generation.own if not each.is_out)

    def _anywhere(self, generation: _Generation) -> _Candidate:
        """Return a uniform point that keeps the rules, where the strategy finds none."""
        source = _source(self._seed, self._num_generations)
        point = self._space.draw(source)
        candidate = _Candidate(point, self._padded(self._cube.to_vector(point)))
        generation.own[0] = candidate
        return candidate

    def _end_if_complete(self, generation: _Generation) -> None:
        own = generation.own
        num_told = sum(each.is_told for each in own)
        is_complete = all(each.is_told for each in own[: self.population])
        # Points whose results never come must not hold the strategy up for ever.
        is_overdue = num_told + len(generation.foreign) >= 2 * self.population
        if is_complete or (is_overdue and num_told >= self.population // 2):
            self._end(generation)

    def _end(self, generation: _Generation) -> None:
        self._generation = None
        self._num_generations += 1
        own = [(each.value, each.vector) for each in generation.own if each.is_told]
        if all(value is None for value, _ in [*own, *generation.foreign]):
            # Nothing can be ranked; the same distribution is drawn from anew.
            return
        results = _merge(own, generation.foreign, self.population)
        self._strategy.tell([vector for vector, _ in results], [loss for _, loss in results])
        if self._strategy.stop():
            self._num_restarts += 1
            self._strategy = self._start()


def _find(own: list[_Candidate], point: Point) -> _Candidate | None:
    """Return the candidate that a told point is: one that is out before one that is not."""
    alike = [each for each in own if not each.is_told and each.point == point]
    return next((each for each in alike if each.is_out), alike[0] if alike else None)


def _merge(
    own: list[_Result], foreign: list[_Result], population: int
) -> list[tuple[Vector, float]]:
    """Return vectors with losses, as many as the population, own ones where they can be."""
    half = population // 2
    own, foreign = sorted(own, key=_loss), sorted(foreign, key=_loss)
    worked = [result for result in own if result[0] is not None]
    # What the better half of the own results reaches.
    bar = _loss(worked[:half][-1]) if worked else math.inf
    guests = [result for result in foreign if _loss(result) < bar][:half]
    kept = own[: population - len(guests)] + guests
    kept += foreign[len(guests) :][: population - len(kept)]
    # Failures rank last, by a number that the library's own statistics can bear.
    worst = max(_loss(result) for result in kept if result[0] is not None)
    return [(r[1], worst + 1.0 if r[0] is None else _loss(r)) for r in kept]


def _loss(result: _Result) -> float:
    return math.inf if result[0] is None else -result[0]


def _positive(seed: int) -> int:
    return seed % 2**63


def _source(seed: int, number: int) -> random.Random:
    return random.Random(f"{seed}:rules:{number}")  # noqa: S311 - a search, not a secret
