"""The stop rule finds large effects soon, takes fresh starts for small ones, keeps no nulls."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from arbor.core.measure.interval import Series
from arbor.core.measure.sequential import (
    Stop,
    decide,
    expected_pairs,
    gain_verdict,
    has_gain,
    mde_ratio,
)
from arbor.events.types import SeriesPlan

NUM_SERIES = 400
SD = 0.02
PLAN = SeriesPlan(
    alpha=0.01,
    min_pairs=3,
    max_pairs=24,
    max_starts=3,
    min_gain_ratio=1.01,
    start_sd=0.006,
    noise_sd=SD,
    noise_sd_high=1.2 * SD,
)


def play(plan: SeriesPlan, pair: Callable[[], float], start: Callable[[], float]) -> Series:
    """Play a series to its end and return it."""
    starts: list[list[float]] = [[]]
    bias = start()
    while True:
        starts[-1].append(bias + pair())
        then = decide(Series.of(*starts), plan)
        if then == "restart":
            starts.append([])
            bias = start()
        elif then is not None:
            return Series.of(*starts)


def _ends(truth: float, plan: SeriesPlan = PLAN, seed: int = 3) -> list[tuple[Stop, Series]]:
    random = np.random.default_rng(seed)
    ends: list[tuple[Stop, Series]] = []
    for _ in range(NUM_SERIES):
        series = play(
            plan,
            lambda: math.log(truth) + random.normal(scale=SD),
            lambda: random.normal(scale=plan.start_sd),
        )
        then = decide(series, plan)
        assert then is not None
        assert then != "restart"
        ends.append((then, series))
    return ends


def _num_gains(ends: list[tuple[Stop, Series]]) -> int:
    return sum(stop == "gain" for stop, _ in ends)


def test_every_series_ends_within_the_planned_pairs_and_starts() -> None:
    for _, series in _ends(1.02):
        assert series.num_pairs <= PLAN.max_pairs
        assert len(series.starts) <= PLAN.max_starts


def test_large_effects_are_found_and_soon() -> None:
    ends = _ends(1.5)
    assert _num_gains(ends) == NUM_SERIES
    assert sum(series.num_pairs for _, series in ends) / NUM_SERIES < 5
    assert all(len(series.starts) == 1 for _, series in ends)


@pytest.mark.parametrize("truth", [0.9, 0.98, 1.0])
def test_what_is_no_gain_is_rarely_kept(truth: float) -> None:
    assert _num_gains(_ends(truth)) / NUM_SERIES <= PLAN.alpha


def test_hopeless_series_end_early() -> None:
    ends = _ends(0.8)
    assert _num_gains(ends) == 0
    assert sum(series.num_pairs for _, series in ends) / NUM_SERIES < 5


def test_waits_for_the_fewest_pairs() -> None:
    plan = PLAN.model_copy(update={"min_pairs": 4})
    assert decide(Series.of((0.5, 0.5, 0.5)), plan) is None
    assert decide(Series.of((0.5, 0.5, 0.5, 0.5)), plan) == "gain"
    assert decide(Series.of(), plan) is None


def test_a_proved_gain_that_is_too_small_is_none() -> None:
    plan = PLAN.model_copy(update={"start_sd": 0.0, "max_pairs": 2000})
    small = Series.of((0.006, 0.008) * 500)
    assert not has_gain(small, plan)
    assert has_gain(small, plan.model_copy(update={"min_gain_ratio": 1.0}))
    is_gain, reason = gain_verdict(small, plan)
    assert not is_gain
    assert "below the smallest gain that counts" in reason


def test_a_small_gain_on_one_start_asks_for_another() -> None:
    plan = PLAN.model_copy(update={"start_sd": 0.012, "noise_sd_high": 0.01, "noise_sd": 0.008})
    one = Series.of((0.02, 0.03, 0.025, 0.02, 0.03))
    assert decide(one, plan) == "restart"
    assert decide(one, plan.model_copy(update={"max_starts": 1})) != "restart"
    assert decide(one, plan.model_copy(update={"start_sd": 0.001})) == "gain"
    assert decide(Series.of(*one.starts, (0.03,)), plan) is None, "one pair on the fresh start"


def test_a_gain_that_the_rest_of_the_pairs_would_hardly_prove_is_given_up() -> None:
    values = (0.006, -0.002, 0.004, -0.004) * 4
    assert decide(Series.of(values[:3]), PLAN) is None
    assert "no_gain" in {decide(Series.of(values[:n]), PLAN) for n in range(4, 17)}


def test_the_planned_end_needs_less_than_any_other_moment() -> None:
    plan = PLAN.model_copy(update={"start_sd": 0.0, "noise_sd_high": None})
    values = (0.0, 0.03, 0.0, 0.036) * 6
    assert not has_gain(Series.of(values[:23]), plan)
    assert has_gain(Series.of(values), plan)


def test_an_undecided_series_ends_at_the_limit() -> None:
    plan = PLAN.model_copy(update={"max_pairs": 4, "noise_sd_high": None})
    assert decide(Series.of((0.3, -0.1, 0.3, -0.1)), plan) in {"max_pairs", "no_gain"}
    assert decide(Series.of((0.9, 0.1, 0.9, 0.1)), plan) in {"max_pairs", "no_gain"}


@pytest.mark.parametrize("max_pairs", [12, 24, 60])
def test_the_smallest_effect_is_found_with_the_stated_power(max_pairs: int) -> None:
    plan = PLAN.model_copy(update={"max_pairs": max_pairs})
    stated = mde_ratio(plan, SD)
    assert _num_gains(_ends(stated, plan)) / NUM_SERIES >= 0.8
    assert stated > plan.min_gain_ratio


def test_the_smallest_effect_shrinks_with_pairs_and_grows_with_noise() -> None:
    more = PLAN.model_copy(update={"max_pairs": 48})
    assert mde_ratio(more, SD) < mde_ratio(PLAN, SD) < mde_ratio(PLAN, 2 * SD)


def test_large_gains_should_take_few_pairs() -> None:
    assert expected_pairs(1.5, PLAN) == PLAN.min_pairs
    assert PLAN.min_pairs < expected_pairs(1.05, PLAN) < PLAN.max_pairs
    assert expected_pairs(1.001, PLAN) == PLAN.max_pairs
