"""Accuracy samples at a distance from the baseline, the same one in all prompts."""

from collections.abc import Sequence

from arbor.core.distances import summarise
from arbor.events.types import AccuracyPass, AccuracySample, PassKind, PromptDistance


def accuracy_pass(
    kind: PassKind,
    kls: Sequence[float],
    *,
    num_tokens: int = 64,
    num_equal: int | None = None,
    nll_delta: float = 0.0,
    num_task_hits: int = 60,
) -> AccuracyPass:
    """Return a pass with a prompt for each divergence, alike in everything else."""
    return AccuracyPass(
        kind=kind,
        batch=8 if kind == "batched" else 1,
        context_tokens=num_tokens,
        prompts=tuple(
            PromptDistance(
                num_tokens=num_tokens,
                kl_mean=kl,
                num_top1_equal=num_tokens if num_equal is None else num_equal,
                nll_delta=nll_delta,
                max_logprob_delta=abs(nll_delta),
                num_task_hits=num_task_hits,
                num_baseline_task_hits=60,
            )
            for kl in kls
        ),
    )


def accuracy_sample(
    kl: float = 0.0,
    *,
    kinds: Sequence[PassKind] = ("single", "batched", "long"),
    num_prompts: int = 8,
    greedy_match_ratio: float | None = 1.0,
    alpha: float = 0.05,
    num_equal: int | None = None,
    nll_delta: float = 0.0,
    num_task_hits: int = 60,
) -> AccuracySample:
    """Return a sample at a distance from the baseline, the same one in all prompts."""
    passes = [
        accuracy_pass(
            kind,
            [kl] * num_prompts,
            num_equal=num_equal,
            nll_delta=nll_delta,
            num_task_hits=num_task_hits,
        )
        for kind in kinds
    ]
    return summarise(passes, alpha=alpha, greedy_match_ratio=greedy_match_ratio, task_name="top1")
