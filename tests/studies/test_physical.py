"""Physical systems: what textbooks say of them."""

import math
import random

import pytest

from arbor.studies.physical import physical_problems
from arbor.studies.problems import Problem

PROBLEMS = {each.name: each for each in physical_problems()}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_values_are_finite_or_failures(problem: Problem) -> None:
    source = random.Random(1)
    values = [problem.evaluate(problem.space.draw(source)) for _ in range(60)]
    worked = [value for value in values if value is not None]
    assert len(set(worked)) > 20


def test_den_hartogs_damper_is_about_the_best() -> None:
    damper = PROBLEMS["mass_damper"]
    tuning, damping = damper.best_numbers
    best = damper.value((tuning, damping))
    # the fixed points of an undamped mass: sqrt(1 + 2 / m)
    assert -best == pytest.approx(math.sqrt(1 + 2 / 0.05), rel=0.02)
    for factor in (0.9, 1.1):
        assert damper.value((tuning * factor, damping)) < best
        assert damper.value((tuning, damping * factor**4)) < best


def test_three_atoms_form_a_triangle() -> None:
    cluster = PROBLEMS["cluster"]
    assert cluster.value(cluster.best_numbers) == pytest.approx(3.0)
    point = cluster.space.point({"x": 0.0, "y": 0.1})
    assert cluster.evaluate(point) is None


def test_a_throw_falls_short_when_it_is_slow() -> None:
    projectile = PROBLEMS["projectile"]
    assert projectile.value((45.0, 12.0)) < -40
    assert max(projectile.value((45.0, speed)) for speed in range(20, 50)) > -6


def test_a_controller_without_gain_leaves_the_error() -> None:
    controller = PROBLEMS["controller"]
    assert controller.value((10.0, 5.0, 3.0)) > controller.value((0.1, 0.01, 0.01))
