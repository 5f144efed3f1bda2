"""Shrinkage takes the luck out of selected effects and leaves clear ones alone."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.core.measure.shrinkage import shrunk_ratios
from arbor.events.types import Effect


def effect(log_ratio: float, sd: float, num_pairs: int = 4, num_starts: int = 1) -> Effect:
    return Effect(
        ratio=math.exp(log_ratio),
        low=0.5,
        high=2.0,
        alpha=0.05,
        num_pairs=num_pairs,
        sd_log_ratio=sd,
        num_starts_per_arm=num_starts,
    )


def logs(effects: list[Effect], start_sd: float = 0.0) -> list[float]:
    return [math.log(ratio) for ratio in shrunk_ratios(effects, start_sd=start_sd)]


def test_equal_noise_shrinks_all_by_one_factor() -> None:
    # v = 0.04 / 4 = 0.01; mean of squares = 0.05; t2 = 0.04; factor = 0.8
    shrunk = logs([effect(0.3, 0.2), effect(-0.1, 0.2)])
    assert shrunk == pytest.approx([0.24, -0.08])


def test_without_noise_nothing_moves() -> None:
    assert logs([effect(0.3, 0.0), effect(0.01, 0.0)]) == pytest.approx([0.3, 0.01])


def test_what_noise_explains_is_worth_nothing() -> None:
    assert shrunk_ratios([effect(0.05, 0.2), effect(-0.04, 0.2)], start_sd=0.0) == (1.0, 1.0)


def test_no_series_no_ratios() -> None:
    assert shrunk_ratios([], start_sd=0.01) == ()


def test_noisier_series_move_further() -> None:
    quiet, noisy = logs([effect(0.3, 0.05), effect(0.3, 0.4)])
    assert noisy < quiet < 0.3


def test_the_start_of_a_server_is_noise_too() -> None:
    alone = logs([effect(0.1, 0.0)], start_sd=0.05)[0]
    twice = logs([effect(0.1, 0.0, num_starts=2)], start_sd=0.05)[0]
    assert alone < twice < 0.1


@given(st.lists(st.tuples(st.floats(-1.0, 1.0), st.floats(0.0, 0.5)), min_size=1, max_size=12))
def test_shrinking_never_turns_or_grows_an_effect(series: list[tuple[float, float]]) -> None:
    for (before, _), after in zip(
        series, logs([effect(y, sd) for y, sd in series], start_sd=0.012), strict=True
    ):
        assert abs(after) <= abs(before) + 1e-12
        assert after * before >= -1e-12


def test_selected_effects_are_too_high_and_their_shrunk_ones_are_not() -> None:
    stream = random.Random(7)
    raw_bias, shrunk_bias = [], []
    for _ in range(200):
        truths = [stream.gauss(0.0, 0.05) for _ in range(20)]
        effects = [effect(stream.gauss(truth, 0.05), 0.1) for truth in truths]
        shrunk = logs(effects)
        best = max(range(20), key=lambda number: effects[number].ratio)
        raw_bias.append(math.log(effects[best].ratio) - truths[best])
        shrunk_bias.append(shrunk[best] - truths[best])
    assert statistics.fmean(raw_bias) > 0.03
    assert abs(statistics.fmean(shrunk_bias)) < 0.01
