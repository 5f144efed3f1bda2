"""Distance between two teacher-forced scorings of one prompt.

With p the reference's and q the candidate's next-token distribution at a position, and S the
tokens that both report among their K likeliest::

    KL_S = sum_{i in S} p_i ln(p_i / q_i) + p_rest ln(p_rest / q_rest)
    p_rest = 1 - sum_{i in S} p_i,   q_rest = 1 - sum_{i in S} q_i

By the log-sum inequality KL_S is at most KL(p || q); the lumped tail hides only how mass moves
among unlikely tokens, which the log-likelihood of the given tokens shows beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arbor.core.distances import UNKNOWN
from arbor.events.types import PromptDistance

# Logarithms arrive rounded to six digits, so less mass than this is not told from none.
_MASS_RESOLUTION = 1e-6

Floats = npt.NDArray[np.float64]
Scores = Mapping[str, Any]
"""One entry of the ``results`` of the engine's /score."""


def prompt_distance(
    reference: Scores, candidate: Scores, likeliest: Sequence[int] | None = None
) -> PromptDistance:
    """Return the distance of a candidate's scores from a reference's.

    What is not a number or not finite counts as far away: ``UNKNOWN`` nats.

    Args:
        reference: scores of the baseline.
        candidate: scores of the same positions.
        likeliest: the token that is truly likeliest at each position, where it is known.
    """
    kl = _kl(reference, candidate)
    delta = np.nan_to_num(
        _array(reference["logprobs"]) - _array(candidate["logprobs"]),
        nan=UNKNOWN,
        posinf=UNKNOWN,
        neginf=-UNKNOWN,
    )
    ours, theirs = np.asarray(reference["top1"]), np.asarray(candidate["top1"])
    truth = np.full(len(ours), -1) if likeliest is None else np.asarray(likeliest)
    return PromptDistance(
        num_tokens=len(kl),
        kl_mean=float(kl.mean()),
        num_top1_equal=int((ours == theirs).sum()),
        nll_delta=float(delta.mean()),
        max_logprob_delta=float(np.abs(delta).max()),
        num_task_hits=int((theirs == truth).sum()),
        num_baseline_task_hits=int((ours == truth).sum()),
    )


def _kl(reference: Scores, candidate: Scores) -> Floats:
    """Divergence at each position of a prompt, [positions]."""
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
    positions: Floats = np.where(is_broken, UNKNOWN, np.clip(kl, 0.0, UNKNOWN))
    return positions


def _array(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)
