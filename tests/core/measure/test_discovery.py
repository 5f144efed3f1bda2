"""Levels of tests: they add up to the allowed error and grow with discoveries."""

import math

import pytest

from arbor.core.measure.discovery import next_level, weight


def test_the_weights_of_all_tests_sum_to_one_at_most() -> None:
    num = 20_000
    # The rests are at most the integrals of 1 / (x log(x)^2) and of (1 + x / 40)^-2 / 40.
    early, late = 1.0 / (0.6628 * math.log(num + 4)), 1.0 / (1.0 + num / 40.0)
    total = math.fsum(weight(number) for number in range(1, num + 1)) + (early + late) / 2.0
    assert 0.98 < total <= 1.0


def test_a_long_campaign_still_has_error_to_spend() -> None:
    assert weight(1) > 5 * weight(20)
    assert weight(60) > weight(1) / 30


def test_a_discovery_earns_error_for_later_tests() -> None:
    assert next_level(5, 4, 0.05) == pytest.approx(5 * next_level(5, 0, 0.05))
    assert next_level(1, 0, 0.05) > next_level(2, 0, 0.05)


def test_a_campaign_of_nulls_spends_no_more_than_the_bound() -> None:
    spent = math.fsum(next_level(number, 0, 0.05) for number in range(1, 500))
    assert spent <= 0.05
