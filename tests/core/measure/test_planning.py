"""Plans follow settings, noise and what was discovered so far."""

import math

import pytest

from arbor.core.measure.interval import Series, claim_effect, series_effect
from arbor.core.measure.noise import NoisePool
from arbor.core.measure.planning import (
    calibrated_mde_ratio,
    claim_pair_s,
    claim_plan,
    series_plan,
    windows_of_candidate,
)
from arbor.events.settings import MeasureSettings
from arbor.events.types import Effect, SeriesPlan

MEASURE = MeasureSettings()


def _effect(sd: float, num_pairs: int = 40) -> Effect:
    values = [sd * (-1) ** i for i in range(num_pairs)]
    return series_effect(Series.of(values), 0.05, start_sd=0.0)


def _pool(sd: float) -> NoisePool:
    pool = NoisePool()
    pool.add(_effect(sd))
    return pool


def _claim(measure: MeasureSettings, sd: float, budget_s: float) -> SeriesPlan:
    return claim_plan(
        measure,
        _pool(sd),
        root_window_s=1.0,
        gain_ratio=1.0,
        longest_s=measure.final_share_ratio * budget_s,
    )


def test_a_fast_stack_plays_more_of_its_short_windows() -> None:
    assert [windows_of_candidate(gain) for gain in (1.0, 1.4, 4.0, 7.0, 50.0)] == [1, 1, 2, 4, 4]
    assert claim_pair_s(2.0, 4.0) == pytest.approx(2.0 + 2 * 0.5)


def test_a_plan_without_known_noise_states_no_smallest_effect() -> None:
    plan = series_plan(MEASURE, NoisePool(), num_tests=0, num_discoveries=0, max_pairs=12)
    assert (plan.noise_sd, plan.noise_sd_high, plan.mde_ratio) == (None, None, None)


def test_a_plan_states_its_smallest_effect() -> None:
    quiet = series_plan(MEASURE, _pool(0.01), num_tests=3, num_discoveries=1, max_pairs=12)
    loud = series_plan(MEASURE, _pool(0.05), num_tests=3, num_discoveries=1, max_pairs=12)
    assert quiet.mde_ratio is not None
    assert loud.mde_ratio is not None
    assert 1.01 < quiet.mde_ratio < loud.mde_ratio
    assert quiet.alpha == loud.alpha < MEASURE.false_discovery_ratio


def test_the_claim_takes_the_pairs_that_its_width_needs() -> None:
    measure = MeasureSettings(start_sd=0.002)
    plan = _claim(measure, 0.03, budget_s=1e6)
    values = [0.7 + 0.03 * (-1) ** i for i in range(plan.max_pairs)]
    effect = claim_effect(Series.of(values, values), measure.alpha, start_sd=measure.start_sd)
    assert effect.high / effect.low - 1.0 == pytest.approx(measure.final_width_ratio, rel=0.1)
    assert plan.max_starts == measure.final_starts


def test_the_claim_stays_within_its_share_of_the_budget() -> None:
    plan = _claim(MEASURE, 0.05, budget_s=300.0)
    planned_s = plan.max_pairs * plan.max_starts * claim_pair_s(1.0, 1.0)
    assert planned_s <= MEASURE.final_share_ratio * 300.0 + plan.max_starts * 2.0
    tiny = _claim(MEASURE, 0.05, budget_s=1.0)
    assert tiny.max_pairs == MEASURE.final_pairs


def test_a_width_that_starts_make_unreachable_is_not_chased_for_ever() -> None:
    measure = MeasureSettings(start_sd=0.1)
    plan = _claim(measure, 0.01, budget_s=1e9)
    assert plan.max_pairs == 200


def test_the_calibration_states_what_the_first_series_finds() -> None:
    stated = calibrated_mde_ratio(MEASURE, _effect(0.02))
    pool = _pool(0.02)
    plan = series_plan(MEASURE, pool, num_tests=0, num_discoveries=0, max_pairs=24)
    assert stated == plan.mde_ratio
    unknown = series_effect(Series.of((0.0,)), 0.05, start_sd=0.0)
    assert math.log(calibrated_mde_ratio(MEASURE, unknown)) == pytest.approx(20.0)
