"""The shared state of CMA-ES: guests, failures, restarts, and what an adviser sees."""

import random

import pytest

from arbor.events.types import Parameter
from arbor.search.space import Point, Space, values_of
from arbor.search.strategy import CmaSettings, EvolutionStrategy

PLANE = Space(tuple(Parameter(key=k, kind="float", low=-5.0, high=5.0) for k in ("x", "y")))


def value_of(point: Point) -> float:
    x, y = (float(value) for value in values_of(point).values())
    return -(x**2) - y**2


def generation(strategy: EvolutionStrategy) -> list[Point]:
    """Ask for and tell one whole generation."""
    points = [strategy.take() for _ in range(strategy.population)]
    for point in points:
        strategy.learn(point, value_of(point))
    return points


def test_a_bad_guest_changes_nothing() -> None:
    alone, visited = EvolutionStrategy(PLANE, 4), EvolutionStrategy(PLANE, 4)
    corner = PLANE.point({"x": 5.0, "y": 5.0})
    for _ in range(8):
        assert visited.learn(corner, value_of(corner)) is False
        assert generation(alone) == generation(visited)


def test_a_good_guest_draws_the_distribution_to_it() -> None:
    alone, visited = EvolutionStrategy(PLANE, 4), EvolutionStrategy(PLANE, 4)
    target = PLANE.point({"x": 3.0, "y": -3.0})
    for _ in range(4):
        for strategy in (alone, visited):
            for _ in range(strategy.population):
                strategy.learn(strategy.take(), -100.0)
        visited.learn(target, 0.0)
    goal = (0.8, 0.2)
    distances = [
        sum(abs(m - g) for m, g in zip(s.view().mean, goal, strict=True)) for s in (alone, visited)
    ]
    assert distances[1] < distances[0]


def test_own_points_are_recognised_without_having_been_asked_for() -> None:
    asked, untold = EvolutionStrategy(PLANE, 4), EvolutionStrategy(PLANE, 4)
    for _ in range(3):
        for point in generation(asked):
            assert untold.learn(point, value_of(point)) is True
    assert untold.take() == asked.take()


def test_the_order_of_results_does_not_matter() -> None:
    one, other = EvolutionStrategy(PLANE, 1), EvolutionStrategy(PLANE, 1)
    for number in range(5):
        points = generation(one)
        same = [other.take() for _ in points]
        random.Random(number).shuffle(same)
        for point in same:
            other.learn(point, value_of(point))
    assert other.view() == one.view()


def test_a_generation_of_failures_is_drawn_again() -> None:
    strategy = EvolutionStrategy(PLANE, 4)
    before = strategy.view()
    points = [strategy.take() for _ in range(strategy.population)]
    for point in points:
        strategy.learn(point, None)
    after = strategy.view()
    assert (after.mean, after.sigma) == (before.mean, before.sigma)
    assert strategy.take() not in points


def test_failures_push_it_away() -> None:
    """Half of the plane fails, where the slope points; the strategy must stay in the other."""
    strategy = EvolutionStrategy(PLANE, 4)
    for _ in range(25 * strategy.population):
        point = strategy.take()
        x = float(values_of(point)["x"])
        strategy.learn(point, None if x > 1 else x)
    assert 0.3 < strategy.view().mean[0] < 0.62


def test_converged_it_starts_anew_with_twice_the_population() -> None:
    strategy = EvolutionStrategy(PLANE, 4)
    population = strategy.population
    for _ in range(200):
        generation(strategy)
        if strategy.population > population:
            break
    assert strategy.population == 2 * population
    assert strategy.view().sigma == pytest.approx(CmaSettings().sigma)


def test_an_adviser_sees_the_state() -> None:
    strategy = EvolutionStrategy(PLANE, 4)
    view = strategy.view()
    assert view.coordinates == ("x", "y")
    assert view.mean == pytest.approx((0.5, 0.5))
    assert view.sigma == pytest.approx(0.25)
    assert view.covariance[0][1] == pytest.approx(0.0)
    assert view.suggestion == strategy.suggestion() == strategy.take()
