"""What a landscape's accuracy check finds at a divergence: prompts like those of a real engine."""

import itertools
import math

from arbor.core.distances import summarise
from arbor.events.types import AccuracyPass, AccuracySample, PassKind, PromptDistance

_ALPHA = 0.05
_BASELINE_HIT_RATIO = 0.9
"""Share of positions where the baseline solves the task."""
_SPREAD_RATIO = 0.1
"""Odd prompts lie this much above the mean divergence, even ones below."""


def landscape_accuracy(kl: float) -> AccuracySample:
    """Return the sample of a stack at a mean KL divergence, in nats.

    The other distances follow the divergence about as int8 weights of the engine do.
    """
    return summarise(
        (
            _pass("single", 1, 16, 256, kl),
            _pass("batched", 8, 16, 256, kl),
            _pass("long", 1, 16, 1024, kl),
        ),
        alpha=_ALPHA,
        greedy_match_ratio=math.exp(-10.0 * math.sqrt(kl)),
        task_name="landscape_top1",
    )


def _pass(
    kind: PassKind, batch: int, num_prompts: int, num_tokens: int, kl: float
) -> AccuracyPass:
    root = math.sqrt(kl)
    equal_ratio = max(1.0 - 0.4 * root, 0.0)
    hits = _shared(_BASELINE_HIT_RATIO * num_tokens, num_prompts)
    kept = _shared(_BASELINE_HIT_RATIO * num_tokens * max(1.0 - 0.05 * root, 0.0), num_prompts)
    return AccuracyPass(
        kind=kind,
        batch=batch,
        context_tokens=num_tokens,
        prompts=tuple(
            PromptDistance(
                num_tokens=num_tokens,
                kl_mean=kl * (1.0 + _SPREAD_RATIO * (1 if index % 2 else -1)),
                num_top1_equal=equal,
                nll_delta=0.5 * kl,
                max_logprob_delta=5.0 * root,
                num_task_hits=task_hits,
                num_baseline_task_hits=baseline_hits,
            )
            for index, (equal, task_hits, baseline_hits) in enumerate(
                zip(_shared(equal_ratio * num_tokens, num_prompts), kept, hits, strict=True)
            )
        ),
    )


def _shared(mean: float, num_prompts: int) -> list[int]:
    """Return whole counts of prompts whose mean is as near to ``mean`` as it can be."""
    ends = [round(mean * number) for number in range(num_prompts + 1)]
    return [stop - start for start, stop in itertools.pairwise(ends)]
