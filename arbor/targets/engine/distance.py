"""Distance between two teacher-forced scorings of the same tokens.

With p the reference's and q the candidate's next-token distribution at a position, and S the
tokens that both report among their K likeliest::

    KL_S = sum_{i in S} p_i ln(p_i / q_i) + p_rest ln(p_rest / q_rest)
    p_rest = 1 - sum_{i in S} p_i,   q_rest = 1 - sum_{i in S} q_i

By the log-sum inequality KL_S is at most KL(p || q); the lumped tail hides only how mass moves
among unlikely tokens, which the log-likelihood of the given tokens shows beside it. The interval
of the mean treats a sequence, not a token, as the unit, since tokens of a sequence are dependent:
``mean + t(0.975, n - 1) * sd / sqrt(n)`` over the n means of sequences.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from arbor.events.types import AccuracySample

BROKEN_KL = 1000.0
"""Stands for a divergence that is not a number or not finite."""
# Logarithms arrive rounded to six digits, so less mass than this is not told from none.
_MASS_RESOLUTION = 1e-6

Floats = npt.NDArray[np.float64]
Scores = Sequence[Mapping[str, Any]]
"""``results`` of the engine's /score, one entry per sequence."""


def compare(reference: Scores, candidate: Scores, greedy_match: float | None) -> AccuracySample:
    """Return the distance of a candidate's scores from a reference's.

    Args:
        reference: scores of the baseline.
        candidate: scores of the same sequences.
        greedy_match: share of greedy tokens that are equal.
    """
    kls: list[float] = []
    kl_means: list[float] = []
    agreements: list[float] = []
    deltas: list[float] = []
    for ours, theirs in zip(reference, candidate, strict=True):
        kl = _kl(ours, theirs)
        kls += kl.tolist()
        kl_means.append(float(kl.mean()))
        agreements += np.equal(ours["top1"], theirs["top1"]).tolist()
        delta = _array(ours["logprobs"]) - _array(theirs["logprobs"])
        deltas += np.nan_to_num(delta, nan=BROKEN_KL, posinf=BROKEN_KL, neginf=-BROKEN_KL).tolist()
    spread = float(np.std(kl_means, ddof=1)) if len(kl_means) > 1 else 0.0
    quantile = float(stdtrit(max(len(kl_means) - 1, 1), 0.975))
    kl_mean = float(np.mean(kls))
    return AccuracySample(
        num_tokens=len(kls),
        kl_mean=kl_mean,
        kl_mean_high=kl_mean + quantile * spread / math.sqrt(len(kl_means)),
        top1_agreement_ratio=float(np.mean(agreements)),
        nll_delta=float(np.mean(deltas)),
        max_logprob_delta=float(np.max(np.abs(deltas))),
        greedy_match_ratio=greedy_match,
    )


def worst(samples: Sequence[AccuracySample]) -> AccuracySample:
    """Return the worst of each distance over several ways of computing the same tokens."""
    matches = [s.greedy_match_ratio for s in samples if s.greedy_match_ratio is not None]
    return AccuracySample(
        num_tokens=min(s.num_tokens for s in samples),
        kl_mean=max(s.kl_mean for s in samples),
        kl_mean_high=max(s.kl_mean_high for s in samples),
        top1_agreement_ratio=min(s.top1_agreement_ratio for s in samples),
        nll_delta=max(s.nll_delta for s in samples),
        max_logprob_delta=max(s.max_logprob_delta for s in samples),
        greedy_match_ratio=min(matches) if matches else None,
    )


def _kl(reference: Mapping[str, Any], candidate: Mapping[str, Any]) -> Floats:
    """Divergence at each position of a sequence, [positions]."""
    log_p, log_q = _array(reference["top_logprobs"]), _array(candidate["top_logprobs"])
    # [positions, K of the reference, K of the candidate]
    same = np.equal(
        np.asarray(reference["top_ids"])[:, :, None], np.asarray(candidate["top_ids"])[:, None, :]
    )
    is_shared = same.any(axis=2)
    matched_q = np.take_along_axis(log_q, same.argmax(axis=2), axis=1)
    with np.errstate(all="ignore"):
        p, q = np.exp(log_p), np.exp(matched_q)
        terms = np.where(is_shared & (p > 0.0), p * (log_p - matched_q), 0.0)
        p_rest = np.maximum(1.0 - np.where(is_shared, p, 0.0).sum(axis=1), _MASS_RESOLUTION)
        q_rest = np.maximum(1.0 - np.where(is_shared, q, 0.0).sum(axis=1), _MASS_RESOLUTION)
        kl = terms.sum(axis=1) + p_rest * np.log(p_rest / q_rest)
    is_broken = ~np.isfinite(kl) | np.isnan(log_q).any(axis=1) | np.isnan(log_p).any(axis=1)
    positions: Floats = np.where(is_broken, BROKEN_KL, np.clip(kl, 0.0, BROKEN_KL))
    return positions


def _array(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)
