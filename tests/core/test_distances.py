"""Intervals cover, widen with less evidence, and never reward more divergence."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.core.distances import (
    UNKNOWN,
    cluster_interval,
    drop_interval,
    kl_interval,
    least_radius,
    nll_interval,
    rising_interval,
    summarise,
    top1_interval,
)
from tests.fakes.accuracy import accuracy_pass, accuracy_sample

ALPHA = 0.05
KLS = st.lists(st.floats(0.0, 10.0), min_size=2, max_size=12)


def test_the_interval_is_the_t_interval_of_prompts() -> None:
    found = cluster_interval([1.0, 2.0, 3.0, 4.0], ALPHA)
    # 3.182 is the 97.5 % quantile of Student's t with three degrees of freedom
    radius = 3.182 * math.sqrt(5.0 / 3.0) / 2.0
    assert found.mean == 2.5
    assert (found.low, found.high) == pytest.approx((2.5 - radius, 2.5 + radius), rel=1e-3)


def test_one_prompt_bounds_nothing() -> None:
    assert cluster_interval([0.1], ALPHA).high == math.inf
    assert rising_interval([0.1], ALPHA).low == -math.inf
    with pytest.raises(ValueError, match="at least one prompt"):
        cluster_interval([], ALPHA)
    sample = summarise([accuracy_pass("single", [0.1])], alpha=ALPHA, task_name="top1")
    assert (sample.kl_mean, sample.kl_mean_high, sample.nll_delta_high) == (0.1, UNKNOWN, UNKNOWN)
    assert sample.top1_agreement_low_ratio == 0.0
    assert sample.task is None


def test_nothing_measured_is_the_worst_there_is() -> None:
    sample = summarise([], alpha=ALPHA, task_name="top1")
    assert (sample.num_tokens, sample.kl_mean_high, sample.top1_agreement_ratio) == (0, UNKNOWN, 0)
    assert sample.task is None


@given(KLS, st.data())
def test_growth_of_one_prompt_never_lowers_the_bound(
    kls: list[float], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(kls) - 1))
    grown = [*kls]
    grown[index] += data.draw(st.floats(0.0, 10.0))
    before, after = rising_interval(kls, ALPHA), rising_interval(grown, ALPHA)
    assert after.high >= before.high * (1.0 - 1e-9)


def test_a_plain_t_interval_would_reward_growth() -> None:
    few, more = [0.0, 1.0, 1.0, 1.0], [0.9, 1.0, 1.0, 1.0]
    assert cluster_interval(more, ALPHA).high < cluster_interval(few, ALPHA).high
    assert rising_interval(more, ALPHA).high >= rising_interval(few, ALPHA).high


@given(KLS)
def test_the_rising_interval_covers_more(kls: list[float]) -> None:
    plain, rising = cluster_interval(kls, ALPHA), rising_interval(kls, ALPHA)
    assert rising.mean == plain.mean
    assert rising.high >= plain.high
    assert 0.0 <= rising.low <= rising.mean + 1e-12


@given(KLS, st.integers(2, 4))
def test_more_of_the_same_narrows_every_interval(kls: list[float], times: int) -> None:
    few = accuracy_pass("single", kls, num_equal=60, nll_delta=0.01)
    many = accuracy_pass("single", kls * times, num_equal=60, nll_delta=0.01)
    for interval_of in (kl_interval, top1_interval, nll_interval, drop_interval):
        before, after = interval_of(few, ALPHA), interval_of(many, ALPHA)
        assert after.high <= before.high * (1.0 + 1e-9) + 1e-12
        assert after.low >= before.low - 1e-9 * abs(before.low) - 1e-12


def test_perfect_agreement_is_as_certain_as_it_has_tokens() -> None:
    """No miss in n positions does not prove that there are none."""
    low = [
        top1_interval(accuracy_pass("single", [0.0] * number), ALPHA).low for number in (2, 8, 64)
    ]
    assert low == sorted(low)
    # Wilson's lower end for 128 of 128
    assert low[0] == pytest.approx(128 / (128 + 1.959964**2))
    assert least_radius(10**9, ALPHA) < 1e-8


def test_the_worst_pass_decides_each_figure() -> None:
    near = accuracy_pass("single", [0.001] * 4)
    far = accuracy_pass("batched", [0.002] * 4, num_equal=60, nll_delta=0.01, num_task_hits=50)
    sample = summarise([near, far], alpha=ALPHA, task_name="top1")
    alone = summarise([far], alpha=ALPHA, task_name="top1")
    assert sample.num_tokens == 2 * alone.num_tokens
    assert sample.model_copy(update={"num_tokens": alone.num_tokens, "passes": (far,)}) == alone
    assert alone.task is not None
    assert (alone.task.score, alone.task.baseline_score) == (50 / 64, 60 / 64)
    assert alone.task.drop_high >= 10 / 64


def test_the_standard_error_is_that_of_prompts() -> None:
    first, second = (accuracy_pass("single", [0.0], num_task_hits=hits) for hits in (48, 64))
    both = first.model_copy(update={"prompts": first.prompts + second.prompts})
    task = summarise([both], alpha=ALPHA, task_name="top1").task
    assert task is not None
    assert task.standard_error == pytest.approx(0.125)
    assert task.num_items == 128


def test_a_sample_comes_back_from_its_own_passes() -> None:
    sample = accuracy_sample(0.003, num_equal=63, nll_delta=-0.001)
    again = summarise(sample.passes, alpha=sample.alpha, greedy_match_ratio=1.0, task_name="top1")
    assert again == sample
