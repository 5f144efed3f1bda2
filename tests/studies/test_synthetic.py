"""The hundred functions: all different, their optimum where they say."""

import random

import pytest

from arbor.search.space import values_of
from arbor.studies.problems import Problem
from arbor.studies.synthetic import FAMILIES, synthetic_problems

PROBLEMS = synthetic_problems()


def test_there_are_a_hundred_of_ten_families() -> None:
    assert len({each.name for each in PROBLEMS}) == 100
    assert {each.name.split("-")[0] for each in PROBLEMS} == set(FAMILIES)


@pytest.mark.parametrize("problem", PROBLEMS[:20], ids=lambda each: each.name)
def test_nothing_is_better_than_the_optimum(problem: Problem) -> None:
    assert problem.value(problem.best_numbers) == pytest.approx(problem.best_value, abs=1e-9)
    source = random.Random(0)
    points = [problem.space.draw(source) for _ in range(200)]
    values = [problem.evaluate(point) for point in points]
    assert all(value is not None and value < 0.0 for value in values)
    assert len(set(values)) > 20
    problem.space.check(problem.space.point(dict(zip("xy", problem.best_numbers, strict=True))))


def test_the_middle_is_no_optimum() -> None:
    for problem in PROBLEMS:
        assert max(abs(each) for each in problem.best_numbers) >= 1.0


def test_they_are_equal_each_time() -> None:
    (point,) = [PROBLEMS[7].space.draw(random.Random(3))]
    assert synthetic_problems(8)[7].evaluate(point) == PROBLEMS[7].evaluate(point)
    assert len(values_of(point)) == 2
