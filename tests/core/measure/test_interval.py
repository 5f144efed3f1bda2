"""The intervals cover, at whatever moment somebody chooses to stop."""

import math

import numpy as np
import pytest

from arbor.core.measure.interval import (
    Series,
    claim_effect,
    noise_radius,
    normal_mixture_radius,
    series_effect,
    start_radius,
    t_mixture_radius,
)
from arbor.core.measure.sequential import decide
from arbor.events.types import SeriesPlan

NUM_SERIES = 2000
NUM_PAIRS = 12
ALPHA = 0.05
START_SD = 0.012


def _values(draw: str) -> np.ndarray:
    random = np.random.default_rng(20260101)
    shape = (NUM_SERIES, NUM_PAIRS)
    values: np.ndarray = {
        "normal": lambda: random.normal(size=shape),
        "uniform": lambda: random.uniform(-1.0, 1.0, size=shape),
        "heavy": lambda: random.standard_t(5, size=shape),
    }[draw]()
    return values


def _share_missed(values: np.ndarray, radii: np.ndarray) -> float:
    """Return how often an interval misses 0 at any moment from the second pair on."""
    counts = np.arange(2, NUM_PAIRS + 1)
    means = (values.cumsum(axis=1)[:, 1:] / counts).T
    return float((np.abs(means) > radii).any(axis=0).mean())


@pytest.mark.parametrize("draw", ["normal", "uniform", "heavy"])
def test_covers_the_mean_at_all_times(draw: str) -> None:
    """An adversary who stops as soon as the interval misses wins in 5 % of the series at most."""
    values = _values(draw)
    counts = range(2, NUM_PAIRS + 1)
    deviations = np.array([values[:, :n].std(axis=1, ddof=1) for n in counts])
    factors = np.array([t_mixture_radius(n, 1.0, ALPHA) for n in counts])
    assert _share_missed(values, factors[:, None] * deviations) <= ALPHA


@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_covers_at_all_times_where_the_noise_is_known(alpha: float) -> None:
    values = _values("normal")
    radii = np.array([normal_mixture_radius(n, 1.0, alpha) for n in range(2, NUM_PAIRS + 1)])
    assert _share_missed(values, radii[:, None] + np.zeros(NUM_SERIES)) <= alpha


def test_a_known_noise_makes_short_series_decisive() -> None:
    known = noise_radius(3, 0.02, 0.005, 0.025)
    assert known < 0.1
    assert noise_radius(3, 0.02, 0.005) == math.inf


def test_a_series_noisier_than_the_bound_does_not_use_it() -> None:
    assert noise_radius(3, 0.03, ALPHA, 0.025) == t_mixture_radius(3, 0.03, ALPHA)
    assert noise_radius(3, 0.02, ALPHA, 0.025) < t_mixture_radius(3, 0.02, ALPHA)


def test_is_infinite_before_a_deviation_is_known() -> None:
    assert t_mixture_radius(1, 1.0, ALPHA) == math.inf
    lone = series_effect(Series.of((0.1,)), ALPHA, start_sd=0.0)
    assert lone.low < 1e-8
    assert lone.high > 1e8
    assert lone.num_pairs == 1


def test_narrows_with_pairs_and_scales_with_noise() -> None:
    for of in (t_mixture_radius, normal_mixture_radius):
        radii = [of(n, 1.0, ALPHA) for n in range(3, 200)]
        assert radii == sorted(radii, reverse=True)
        assert of(6, 0.3, ALPHA) == pytest.approx(0.3 * of(6, 1.0, ALPHA))
        assert of(6, 1.0, 0.01) > of(6, 1.0, 0.1)


def test_a_tiny_level_is_no_overflow() -> None:
    assert t_mixture_radius(2, 1.0, 1e-300) == math.inf
    assert math.isfinite(t_mixture_radius(1000, 1.0, 1e-300))


def test_equal_values_claim_no_certainty() -> None:
    effect = series_effect(Series.of((0.05, 0.05, 0.05)), ALPHA, start_sd=0.0)
    assert effect.sd_log_ratio == pytest.approx(0.0, abs=1e-12)
    assert effect.low < math.exp(0.05) < effect.high


def test_an_effect_is_in_ratios() -> None:
    series = Series.of((math.log(1.2), math.log(1.25)), (math.log(1.3), math.log(1.35)))
    effect = series_effect(series, ALPHA, start_sd=0.0)
    assert effect.ratio == pytest.approx((1.2 * 1.25 * 1.3 * 1.35) ** 0.25)
    assert (effect.num_pairs, effect.num_starts_per_arm, effect.alpha) == (4, 2, ALPHA)
    turned = Series.of(*(tuple(-value for value in start) for start in series.starts))
    assert series_effect(turned, ALPHA, start_sd=0.0).low == pytest.approx(1 / effect.high)


def test_the_deviation_is_that_within_starts() -> None:
    series = Series.of((0.0, 0.02), (1.0, 1.02))
    assert series.sd == pytest.approx(0.01 * math.sqrt(2))
    assert series.degrees == 2
    assert Series.of((0.3,)).sd == 0.0


def test_the_bias_of_a_start_stays_however_many_pairs_it_has() -> None:
    long = series_effect(Series.of((0.1, 0.1001) * 500), ALPHA, start_sd=START_SD)
    assert math.log(long.ratio / long.low) > 1.9 * START_SD
    even = Series.of((0.1,) * 4, (0.1,) * 4)
    uneven = Series.of((0.1,) * 7, (0.1,))
    assert even.start_weight == pytest.approx(0.5)
    assert uneven.start_weight > 0.7
    assert start_radius(1.0, START_SD, ALPHA) == pytest.approx(1.96 * START_SD, rel=1e-3)


def test_covers_under_the_assumed_bias_of_starts() -> None:
    random = np.random.default_rng(5)
    num_missed = 0
    for _ in range(NUM_SERIES):
        bias = random.normal(scale=START_SD)
        series = Series.of((bias + random.normal(scale=0.01, size=6)).tolist())
        effect = series_effect(series, ALPHA, start_sd=START_SD, noise_sd_high=0.013)
        num_missed += not effect.low <= 1.0 <= effect.high
    assert num_missed / NUM_SERIES <= ALPHA


def test_no_pairs_are_no_effect() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        series_effect(Series.of(), ALPHA, start_sd=0.0)


@pytest.mark.parametrize("window_sd", [0.001, 0.015, 0.05])
def test_the_final_interval_covers_under_the_assumed_start_deviation(window_sd: float) -> None:
    random = np.random.default_rng(11)
    num_missed = 0
    for _ in range(NUM_SERIES):
        biases = random.normal(scale=START_SD, size=2)
        starts = [(bias + random.normal(scale=window_sd, size=4)).tolist() for bias in biases]
        effect = claim_effect(Series.of(*starts), ALPHA, start_sd=START_SD)
        num_missed += not effect.low <= 1.0 <= effect.high
    assert num_missed / NUM_SERIES <= ALPHA


def test_more_pairs_of_one_start_do_not_remove_the_doubt_about_starts() -> None:
    series = Series.of((0.1, 0.1001) * 50, (0.1, 0.0999) * 50)
    effect = claim_effect(series, ALPHA, start_sd=START_SD)
    assert math.log(effect.high / effect.low) > 2 * 1.9 * START_SD / math.sqrt(2)
    assert effect.num_pairs == 200
    assert effect.num_starts_per_arm == 2


def test_starts_that_disagree_widen_the_final_interval() -> None:
    alike = claim_effect(Series.of((0.1, 0.11), (0.1, 0.11)), ALPHA, start_sd=START_SD)
    apart = claim_effect(Series.of((0.0, 0.01), (0.2, 0.21)), ALPHA, start_sd=START_SD)
    assert apart.ratio == pytest.approx(alike.ratio)
    assert apart.high / apart.low > alike.high / alike.low


@pytest.mark.parametrize("starts", [(), ((0.1,),)])
def test_too_little_for_a_final_effect_is_refused(starts: tuple[tuple[float, ...], ...]) -> None:
    with pytest.raises(ValueError, match="needs two pairs"):
        claim_effect(Series.of(*starts), ALPHA, start_sd=START_SD)


def test_the_planned_end_has_a_narrower_interval() -> None:
    series = Series.of((0.02, 0.05, 0.03, 0.06) * 3)
    anytime = series_effect(series, ALPHA, start_sd=0.0)
    early = series_effect(series, ALPHA, start_sd=0.0, max_pairs=24)
    at_the_end = series_effect(series, ALPHA, start_sd=0.0, max_pairs=12)
    assert at_the_end.high < anytime.high < early.high


def test_covers_where_a_series_stops_itself() -> None:
    """The interval that a series ends with covers, for gains, losses and nothing."""
    random = np.random.default_rng(7)
    plan = SeriesPlan(
        alpha=0.01,
        min_pairs=3,
        max_pairs=12,
        min_gain_ratio=1.01,
        start_sd=0.0,
        noise_sd=0.015,
        noise_sd_high=0.018,
    )
    num_missed = 0
    for number in range(NUM_SERIES):
        truth = (0.0, 0.01, 0.05, -0.05)[number % 4]
        values = (truth + random.normal(scale=0.015, size=plan.max_pairs)).tolist()
        end = next(n for n in range(1, 13) if decide(Series.of(values[:n]), plan))
        effect = series_effect(
            Series.of(values[:end]), ALPHA, start_sd=0.0, noise_sd_high=0.018, max_pairs=12
        )
        num_missed += not effect.low <= math.exp(truth) <= effect.high
    assert num_missed / NUM_SERIES <= ALPHA
