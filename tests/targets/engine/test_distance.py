"""The truncated divergence is exact on full support, a lower bound otherwise, and never fails."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.targets.engine.distance import BROKEN_KL, compare, worst

VOCABULARY = 20


def scores(seed: int, *, num_positions: int = 6, top_k: int, spread: float = 1.0) -> Any:
    """Return one sequence's scores and its log-probabilities [positions, vocabulary]."""
    generator = np.random.default_rng(seed)
    base = np.random.default_rng(99).normal(size=(num_positions, VOCABULARY)) * 2.0
    logits = base + generator.normal(size=base.shape) * spread
    logprobs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    order = np.argsort(-logprobs, axis=1)[:, :top_k]
    top = np.take_along_axis(logprobs, order, axis=1)
    result = {
        "logprobs": logprobs[:, 0].tolist(),
        "top1": order[:, 0].tolist(),
        "top_ids": order.tolist(),
        "top_logprobs": top.tolist(),
    }
    return result, logprobs


def true_kl(log_p: Any, log_q: Any) -> float:
    return float((np.exp(log_p) * (log_p - log_q)).sum(axis=1).mean())


def test_full_support_gives_the_divergence() -> None:
    ours, log_p = scores(1, top_k=VOCABULARY)
    theirs, log_q = scores(2, top_k=VOCABULARY)
    sample = compare([ours], [theirs], None)
    assert sample.kl_mean == pytest.approx(true_kl(log_p, log_q), rel=1e-4)
    assert sample.num_tokens == 6
    assert sample.nll_delta == pytest.approx(float((log_p - log_q)[:, 0].mean()))
    assert sample.max_logprob_delta == pytest.approx(float(np.abs((log_p - log_q)[:, 0]).max()))
    assert sample.greedy_match_ratio is None


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, VOCABULARY), st.floats(0.0, 3.0))
def test_truncation_never_exaggerates(seed: int, top_k: int, spread: float) -> None:
    ours, log_p = scores(seed, top_k=top_k, spread=0.0)
    theirs, log_q = scores(seed, top_k=top_k, spread=spread)
    kl = compare([ours], [theirs], 1.0).kl_mean
    assert -1e-12 <= kl <= true_kl(log_p, log_q) + 1e-5


def test_equal_scores_are_no_distance() -> None:
    ours, _ = scores(1, top_k=8)
    sample = compare([ours, ours], [ours, ours], 1.0)
    assert (sample.kl_mean, sample.kl_mean_high, sample.nll_delta) == (0.0, 0.0, 0.0)
    assert sample.top1_agreement_ratio == 1.0


def test_the_bound_widens_with_the_spread_of_sequences() -> None:
    ours = [scores(seed, top_k=8, spread=0.0)[0] for seed in range(4)]
    theirs = [scores(seed, top_k=8, spread=0.1 * seed)[0] for seed in range(4)]
    sample = compare(ours, theirs, 1.0)
    means = [compare([a], [b], 1.0).kl_mean for a, b in zip(ours, theirs, strict=True)]
    # 3.182 is the 97.5 % quantile of Student's t with three degrees of freedom
    margin = 3.182 * float(np.std(means, ddof=1)) / math.sqrt(4)
    assert sample.kl_mean_high == pytest.approx(sample.kl_mean + margin, rel=1e-3)


@pytest.mark.parametrize("broken", [math.nan, -math.inf, math.inf])
def test_what_is_not_finite_is_far_away(broken: float) -> None:
    ours, _ = scores(1, top_k=8)
    theirs, _ = scores(2, top_k=8)
    for row in theirs["top_logprobs"]:
        row[:] = [broken] * len(row)
    theirs["logprobs"] = [broken] * len(theirs["logprobs"])
    sample = compare([ours, ours], [theirs, theirs], 0.0)
    assert sample.kl_mean > 1.0
    assert abs(sample.nll_delta) == BROKEN_KL
    assert math.isfinite(sample.kl_mean_high)


def test_the_worst_of_each_is_taken() -> None:
    ours, _ = scores(1, top_k=8, spread=0.0)
    near = compare([ours], [scores(2, top_k=8, spread=0.1)[0]], 1.0)
    far = compare([ours], [scores(2, top_k=8, spread=2.0)[0]], 0.5)
    both = worst([near, far])
    assert both.kl_mean == far.kl_mean
    assert both.top1_agreement_ratio == far.top1_agreement_ratio
    assert both.greedy_match_ratio == 0.5
