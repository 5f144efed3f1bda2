"""The truncated divergence is exact on full support, a lower bound otherwise, and never fails."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.core.distances import UNKNOWN
from arbor.targets.distance import prompt_distance

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
    found = prompt_distance(ours, theirs)
    assert found.kl_mean == pytest.approx(true_kl(log_p, log_q), rel=1e-4)
    assert found.num_tokens == 6
    assert found.nll_delta == pytest.approx(float((log_p - log_q)[:, 0].mean()))
    assert found.max_logprob_delta == pytest.approx(float(np.abs((log_p - log_q)[:, 0]).max()))
    assert (found.num_task_hits, found.num_baseline_task_hits) == (0, 0)


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, VOCABULARY), st.floats(0.0, 3.0))
def test_truncation_never_exaggerates(seed: int, top_k: int, spread: float) -> None:
    ours, log_p = scores(seed, top_k=top_k, spread=0.0)
    theirs, log_q = scores(seed, top_k=top_k, spread=spread)
    kl = prompt_distance(ours, theirs).kl_mean
    assert -1e-12 <= kl <= true_kl(log_p, log_q) + 1e-5


def test_equal_scores_are_no_distance() -> None:
    ours, _ = scores(1, top_k=8)
    found = prompt_distance(ours, ours, ours["top1"])
    assert (found.kl_mean, found.nll_delta, found.max_logprob_delta) == (0.0, 0.0, 0.0)
    assert found.num_top1_equal == found.num_task_hits == found.num_baseline_task_hits == 6


def test_the_task_counts_what_is_truly_likeliest() -> None:
    ours, _ = scores(1, top_k=8)
    theirs = {**ours, "top1": [VOCABULARY] * 3 + ours["top1"][3:]}
    likeliest = [*ours["top1"][:5], VOCABULARY]
    found = prompt_distance(ours, theirs, likeliest)
    assert (found.num_baseline_task_hits, found.num_task_hits, found.num_top1_equal) == (5, 2, 3)


@pytest.mark.parametrize("broken", [math.nan, -math.inf, math.inf])
def test_what_is_not_finite_is_far_away(broken: float) -> None:
    ours, _ = scores(1, top_k=8)
    theirs, _ = scores(2, top_k=8)
    for row in theirs["top_logprobs"]:
        row[:] = [broken] * len(row)
    theirs["logprobs"] = [broken] * len(theirs["logprobs"])
    found = prompt_distance(ours, theirs)
    assert found.kl_mean > 1.0
    assert abs(found.nll_delta) == found.max_logprob_delta == UNKNOWN
