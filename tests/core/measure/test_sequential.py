"""The stop rule finds large effects soon and does not keep nulls."""

import math

import numpy as np
import pytest

from arbor.core.measure.interval import effect_of
from arbor.core.measure.sequential import Stop, decide, mde_ratio
from arbor.events.settings import MeasureSettings

SETTINGS = MeasureSettings()
NUM_SERIES = 400


def _ends(truth: float, sd: float, seed: int = 3) -> list[tuple[Stop, int]]:
    random = np.random.default_rng(seed)
    ends = []
    for _ in range(NUM_SERIES):
        values = (math.log(truth) + random.normal(scale=sd, size=SETTINGS.max_pairs)).tolist()
        for number in range(1, SETTINGS.max_pairs + 1):
            stop = decide(values[:number], SETTINGS)
            if stop is not None:
                ends.append((stop, number))
                break
    return ends


def test_every_series_ends_within_the_allowed_pairs() -> None:
    assert len(_ends(1.02, 0.02)) == NUM_SERIES


def test_large_effects_are_found_and_soon() -> None:
    ends = _ends(1.5, 0.02)
    assert all(stop == "gain" for stop, _ in ends)
    assert sum(number for _, number in ends) / NUM_SERIES < 5


@pytest.mark.parametrize("truth", [0.9, 1.0, 1.01])
def test_what_does_not_clear_the_smallest_gain_is_rarely_kept(truth: float) -> None:
    kept = sum(stop == "gain" for stop, _ in _ends(truth, 0.015))
    assert kept / NUM_SERIES <= SETTINGS.alpha


def test_hopeless_series_end_early() -> None:
    ends = _ends(0.8, 0.02)
    assert all(stop == "no_gain" for stop, _ in ends)
    assert sum(number for _, number in ends) / NUM_SERIES < 5


def test_waits_for_the_fewest_pairs() -> None:
    settings = MeasureSettings(min_pairs=4)
    assert decide([0.5, 0.5, 0.5], settings) is None
    assert decide([0.5, 0.5, 0.5, 0.5], settings) == "gain"
    assert decide([], settings) is None


def test_stops_for_a_gain_exactly_when_the_lower_bound_clears() -> None:
    values = [0.2, 0.19, 0.21]
    low = effect_of(values, SETTINGS.alpha).low
    below = MeasureSettings(min_gain_ratio=low * 0.999)
    above = MeasureSettings(min_gain_ratio=low * 1.001)
    assert decide(values, below) == "gain"
    assert decide(values, above) != "gain"


def test_a_mean_below_the_threshold_ends_after_half_of_the_pairs() -> None:
    values = [0.3, -0.3, 0.3, -0.3, 0.3, -0.31]
    assert decide(values[:5], SETTINGS) is None
    assert decide(values, SETTINGS) == "no_gain"


def test_an_undecided_series_ends_at_the_limit() -> None:
    values = [0.3, -0.1] * 6
    assert decide(values, SETTINGS) == "max_pairs"


def test_the_smallest_effect_is_found_with_the_promised_power() -> None:
    sd = 0.015
    promised = mde_ratio(sd, SETTINGS)
    found = sum(stop == "gain" for stop, _ in _ends(promised, sd))
    assert found / NUM_SERIES >= 0.75
    assert mde_ratio(2 * sd, SETTINGS) > promised > SETTINGS.min_gain_ratio
    assert mde_ratio(sd, SETTINGS, power=0.95) > promised
    assert mde_ratio(sd, MeasureSettings(max_pairs=24)) < promised
