"""Errors of kernels as the distances that the accuracy gate reads."""

from collections.abc import Mapping, Sequence
from typing import Any

from arbor.core.distances import UNKNOWN, summarise
from arbor.events.types import AccuracyPass, AccuracySample, PassKind, PromptDistance

_KINDS: Mapping[str, PassKind] = {"normal": "single", "wide": "batched", "shifted": "long"}
"""Distributions of inputs take the place of ways to compute prompts."""
_ALPHA = 0.05


def kernel_accuracy(found: Sequence[Mapping[str, Any]], num_expected: int) -> AccuracySample:
    """Return the sample of a kernel's errors.

    A part within its tolerance of float64 has no distance: what is left is rounding. One beyond
    it has the divergence of two normal distributions whose means differ by the relative error e,
    ``e^2 / 2``, and agrees nowhere. Without a finite error the distance is unknown.

    Args:
        found: ``variation``, ``part``, ``error``, ``is_accepted`` and ``size`` of every trial.
        num_expected: trials that the baseline had; fewer are no agreement.
    """
    passes = []
    for variation, kind in _KINDS.items():
        trials = [each for each in found if each["variation"] == variation]
        passes.append(
            AccuracyPass(
                kind=kind,
                batch=max(len(trials), 1),
                context_tokens=max((each["size"] for each in trials), default=1),
                prompts=tuple(distance for each in trials for distance in _distances(each)),
            )
        )
    num_right = sum(each["is_accepted"] for each in found)
    return summarise(
        passes, alpha=_ALPHA, greedy_match_ratio=min(num_right / max(num_expected, 1), 1.0)
    )


def _distances(trial: Mapping[str, Any]) -> tuple[PromptDistance, ...]:
    """Return one distance for each of the trial's two calls; every number counts as a position."""
    is_right = bool(trial["is_accepted"])
    error = trial["error"]
    kl = 0.0 if is_right else UNKNOWN if error is None else min(error**2 / 2, UNKNOWN)
    each = PromptDistance(
        num_tokens=trial["size"],
        kl_mean=kl,
        num_top1_equal=trial["size"] if is_right else 0,
        nll_delta=kl,
        max_logprob_delta=kl,
    )
    return (each, each)
