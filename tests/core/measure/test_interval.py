"""The intervals cover, at whatever moment somebody chooses to stop."""

import math

import numpy as np
import pytest

from arbor.core.measure.interval import START_SD, clustered_effect, effect_of, mixture_radius
from arbor.core.measure.sequential import decide
from arbor.events.settings import MeasureSettings

NUM_SERIES = 2000
NUM_PAIRS = 12
ALPHA = 0.05


def _radii(values: np.ndarray, alpha: float) -> np.ndarray:
    """Return the radius after every number of pairs, from the second on, for every series."""
    factors = [mixture_radius(n, 1.0, alpha) for n in range(2, values.shape[1] + 1)]
    deviations = [values[:, :n].std(axis=1, ddof=1) for n in range(2, values.shape[1] + 1)]
    radii: np.ndarray = np.array(factors)[:, None] * np.array(deviations)
    return radii


@pytest.mark.parametrize("draw", ["normal", "uniform", "heavy"])
def test_covers_the_mean_at_all_times(draw: str) -> None:
    """An adversary who stops as soon as the interval misses wins in 5 % of the series at most."""
    random = np.random.default_rng(20260101)
    shape = (NUM_SERIES, NUM_PAIRS)
    values = {
        "normal": lambda: random.normal(size=shape),
        "uniform": lambda: random.uniform(-1.0, 1.0, size=shape),
        "heavy": lambda: random.standard_t(5, size=shape),
    }[draw]()
    counts = np.arange(2, NUM_PAIRS + 1)
    means = (values.cumsum(axis=1)[:, 1:] / counts).T
    missed = (np.abs(means) > _radii(values, ALPHA)).any(axis=0)
    assert missed.mean() <= ALPHA


def test_covers_where_the_series_stops_itself() -> None:
    """The interval that ``decide`` ends a series with covers, for gains, losses and nothing."""
    random = np.random.default_rng(7)
    settings = MeasureSettings()
    num_missed = 0
    for series in range(NUM_SERIES):
        truth = (0.0, 0.01, 0.05, -0.05)[series % 4]
        values = (truth + random.normal(scale=0.015, size=settings.max_pairs)).tolist()
        end = next(n for n in range(1, len(values) + 1) if decide(values[:n], settings))
        effect = effect_of(values[:end], settings.alpha)
        num_missed += not effect.low <= math.exp(truth) <= effect.high
    assert num_missed / NUM_SERIES <= ALPHA


def test_is_infinite_before_a_deviation_is_known() -> None:
    assert mixture_radius(1, 1.0, ALPHA) == math.inf
    lone = effect_of([0.1], ALPHA)
    assert lone.low < 1e-8
    assert lone.high > 1e8
    assert lone.num_pairs == 1


def test_narrows_with_pairs_and_scales_with_noise() -> None:
    radii = [mixture_radius(n, 1.0, ALPHA) for n in range(3, 200)]
    assert radii == sorted(radii, reverse=True)
    assert mixture_radius(6, 0.3, ALPHA) == pytest.approx(0.3 * mixture_radius(6, 1.0, ALPHA))
    assert mixture_radius(6, 1.0, 0.01) > mixture_radius(6, 1.0, 0.1)


def test_equal_values_claim_no_certainty() -> None:
    effect = effect_of([0.05] * 3, ALPHA)
    assert effect.sd_log_ratio == 0.0
    assert effect.low < math.exp(0.05) < effect.high


def test_an_effect_is_in_ratios() -> None:
    effect = effect_of([math.log(1.2), math.log(1.3)], ALPHA, num_starts=2)
    assert effect.ratio == pytest.approx(math.sqrt(1.2 * 1.3))
    assert (effect.num_pairs, effect.num_starts_per_arm, effect.alpha) == (2, 2, ALPHA)
    turned = effect_of([-math.log(1.2), -math.log(1.3)], ALPHA)
    assert turned.low == pytest.approx(1 / effect.high)


def test_no_pairs_are_no_effect() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        effect_of([], ALPHA)


@pytest.mark.parametrize("window_sd", [0.001, 0.015, 0.05])
def test_the_final_interval_covers_under_the_assumed_start_deviation(window_sd: float) -> None:
    random = np.random.default_rng(11)
    num_missed = 0
    for _ in range(NUM_SERIES):
        biases = random.normal(scale=START_SD, size=2)
        starts = [(bias + random.normal(scale=window_sd, size=4)).tolist() for bias in biases]
        effect = clustered_effect(starts, ALPHA, start_sd=START_SD)
        num_missed += not effect.low <= 1.0 <= effect.high
    assert num_missed / NUM_SERIES <= ALPHA


def test_more_pairs_of_one_start_do_not_remove_the_doubt_about_starts() -> None:
    starts = [[0.1, 0.1001] * 50, [0.1, 0.0999] * 50]
    effect = clustered_effect(starts, ALPHA, start_sd=START_SD)
    assert math.log(effect.high / effect.low) > 2 * 1.9 * START_SD / math.sqrt(2)
    assert effect.num_pairs == 200
    assert effect.num_starts_per_arm == 2


def test_starts_that_disagree_widen_the_final_interval() -> None:
    alike = clustered_effect([[0.1, 0.11], [0.1, 0.11]], ALPHA, start_sd=START_SD)
    apart = clustered_effect([[0.0, 0.01], [0.2, 0.21]], ALPHA, start_sd=START_SD)
    assert apart.ratio == pytest.approx(alike.ratio)
    assert apart.high / apart.low > alike.high / alike.low


@pytest.mark.parametrize("starts", [[], [[0.1]], [[0.1, 0.2], []]])
def test_too_little_for_a_final_effect_is_refused(starts: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="two pairs and no empty start"):
        clustered_effect(starts, ALPHA, start_sd=START_SD)
