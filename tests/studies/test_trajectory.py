"""Figures of a path, on paths whose figures are known."""

import pytest

from arbor.studies.trajectory import coverage, describe


def test_a_straight_line_is_coherent() -> None:
    found = describe([(0.0, 0.0), (0.5, 0.0), (1.0, 0.0)], [1.0, 3.0, 2.0])
    assert (found.best_value, found.best_step, found.coherence) == (3.0, 2, 1.0)
    assert found.path_length == pytest.approx(0.5 / 2**0.5)


def test_a_way_there_and_back_is_not() -> None:
    assert describe([(0.0,), (1.0,), (0.0,)], [1.0, 1.0, None]).coherence == 0.0


def test_the_first_of_equal_values_is_the_best_step() -> None:
    assert describe([(0.0,), (1.0,), (0.5,)], [2.0, 2.0, 2.0]).best_step == 1


def test_without_a_success_there_is_no_best() -> None:
    found = describe([(0.5, 0.5)], [None])
    assert (found.best_value, found.best_step, found.path_length) == (None, 0, 0.0)
    assert describe([], []).coverage == 0.0


def test_coverage_counts_cells_out_of_those_that_could_be_visited() -> None:
    assert coverage([(0.05, 0.05), (0.06, 0.06)]) == 0.5
    assert coverage([(0.05, 0.05), (0.95, 0.95)]) == 1.0
    assert coverage([(n / 10, m / 10) for n in range(10) for m in range(10)] * 2) == 1.0
    assert coverage([(1.0,), (0.0,)]) == 1.0


def test_points_and_values_are_paired() -> None:
    with pytest.raises(ValueError, match="cannot be paired"):
        describe([(0.0,)], [])
