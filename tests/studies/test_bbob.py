"""BBOB: 48 problems in each dimension."""

import pytest

pytest.importorskip("cocoex")

from arbor.studies.bbob import bbob_problems


def test_there_are_forty_eight_in_each_dimension() -> None:
    problems = bbob_problems()
    groups = [each.group for each in problems]
    assert (groups.count("bbob-2d"), groups.count("bbob-5d")) == (48, 48)
    assert len({each.name for each in problems}) == 96


def test_values_differ_and_instances_too() -> None:
    first, second = bbob_problems([2])[:2]
    assert first.value((0.0, 0.0)) != first.value((1.0, 0.0))
    assert first.value((0.0, 0.0)) != second.value((0.0, 0.0))
