"""Shares of problems won: ties are halves, and intervals hold the mean."""

import pytest

from benchmarks.paired import interval, scores


def test_a_tie_is_a_half_and_seeds_are_averaged() -> None:
    assert scores([[1.0, 2.0], [3.0]], [[1.0, 1.0], [4.0]]) == [0.75, 0.0]


def test_an_interval_holds_its_mean_and_narrows() -> None:
    few, many = ([0.0, 1.0] * num for num in (5, 500))
    mean, low, high = interval(few)
    assert low < mean == 0.5 < high
    _, narrow_low, narrow_high = interval(many)
    assert narrow_high - narrow_low < 0.2 * (high - low)


def test_without_variance_it_is_a_point() -> None:
    assert interval([0.5] * 10) == pytest.approx((0.5, 0.5, 0.5))
