"""What is known about noise follows the series that showed it."""

import numpy as np
import pytest

from arbor.core.measure.interval import Series, series_effect
from arbor.core.measure.noise import CONFIDENCE_RATIO, NoisePool


def _pool(random: np.random.Generator, sds: list[float], num_pairs: int = 6) -> NoisePool:
    pool = NoisePool()
    for sd in sds:
        values = random.normal(scale=sd, size=num_pairs).tolist()
        pool.add(series_effect(Series.of(values), 0.05, start_sd=0.0))
    return pool


def test_nothing_is_known_before_a_series() -> None:
    pool = NoisePool()
    pool.add(series_effect(Series.of((0.1,)), 0.05, start_sd=0.0))
    assert pool.sd is None
    assert pool.sd_high is None


def test_the_bound_holds_with_its_confidence() -> None:
    random = np.random.default_rng(1)
    bounds = [_pool(random, [0.02] * 3).sd_high or 0.0 for _ in range(1000)]
    assert np.mean(np.array(bounds) >= 0.02) == pytest.approx(CONFIDENCE_RATIO, abs=0.03)


def test_follows_a_noise_that_grows() -> None:
    random = np.random.default_rng(2)
    pool = _pool(random, [0.01] * 20 + [0.04] * 12, num_pairs=20)
    assert pool.sd == pytest.approx(0.04, rel=0.2)


def test_more_pairs_bring_the_bound_nearer() -> None:
    random = np.random.default_rng(3)
    few, many = _pool(random, [0.02]), _pool(random, [0.02] * 10)
    assert few.sd is not None
    assert few.sd_high is not None
    assert many.sd is not None
    assert many.sd_high is not None
    assert many.sd_high / many.sd < few.sd_high / few.sd
