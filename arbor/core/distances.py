"""Distances of a stack from the baseline with their intervals, from raw prompts.

Prompts are the clusters of every interval, each with the same weight: tokens of one prompt are
dependent. With x the n means of prompts, the interval is
``mean(x) +- t(1 - alpha / 2, n - 1) sd(x) / sqrt(n)``, widened where that would claim more than
was seen.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scipy.special import ndtri, stdtrit

from arbor.events.types import AccuracyPass, AccuracySample, TaskScore

UNKNOWN = 1000.0
"""Stands for an end of an interval that too few prompts leave open, and for a broken distance."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over prompts and the ends of its interval; infinite ones for a single prompt."""

    mean: float
    low: float
    high: float


def cluster_interval(values: Sequence[float], alpha: float) -> Interval:
    """Return the t interval of the mean of clusters.

    Args:
        values: means of clusters.
        alpha: miscoverage of the interval.

    Raises:
        ValueError: there are no clusters.
    """
    if not values:
        raise ValueError("an interval needs at least one prompt; got 0")
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Interval(mean, -math.inf, math.inf)
    quantile = float(stdtrit(len(values) - 1, 1.0 - alpha / 2.0))
    radius = quantile * statistics.stdev(values, mean) / math.sqrt(len(values))
    return Interval(mean, mean - radius, mean + radius)


def rising_interval(values: Sequence[float], alpha: float) -> Interval:
    """Return an interval for quantities that cannot be negative; growth never lowers its ends.

    A t interval has a fault as a gate: when one low cluster grows towards the others, the spread
    shrinks and so may the upper end. Here it is the highest among all clusters that are at most
    the seen ones. It is convex in each, so the highest is where some are zero and the others as
    seen, and by symmetry the zeros are the smallest.

    Raises:
        ValueError: there are no clusters.
    """
    seen = cluster_interval(values, alpha)
    if len(values) < 2:
        return seen
    ordered = sorted(values)
    high = max(
        cluster_interval([0.0] * num_zeros + ordered[num_zeros:], alpha).high
        for num_zeros in range(len(ordered))
    )
    return Interval(seen.mean, max(seen.low, 0.0), high)


def least_radius(num_items: int, alpha: float) -> float:
    """Return how rare an event may be that was never seen among ``num_items``.

    The upper end of Wilson's interval at a share of zero, ``z^2 / (n + z^2)``.
    """
    square = float(ndtri(1.0 - alpha / 2.0)) ** 2
    return square / (num_items + square)


def kl_interval(measured: AccuracyPass, alpha: float) -> Interval:
    """Return the interval of the mean KL divergence of a pass, in nats."""
    return rising_interval([p.kl_mean for p in measured.prompts], alpha)


def top1_interval(measured: AccuracyPass, alpha: float) -> Interval:
    """Return the interval of the share of positions with the baseline's likeliest token."""
    missed = [1.0 - p.num_top1_equal / p.num_tokens for p in measured.prompts]
    wrong = _at_least(rising_interval(missed, alpha), _num_tokens(measured), alpha)
    return Interval(1.0 - wrong.mean, 1.0 - wrong.high, 1.0 - wrong.low)


def nll_interval(measured: AccuracyPass, alpha: float) -> Interval:
    """Return the interval of the growth of the negative log-likelihood, in nats per token."""
    return cluster_interval([p.nll_delta for p in measured.prompts], alpha)


def drop_interval(measured: AccuracyPass, alpha: float) -> Interval:
    """Return the interval of the loss of the task's score, paired by prompt."""
    lost = [(p.num_baseline_task_hits - p.num_task_hits) / p.num_tokens for p in measured.prompts]
    return _at_least(cluster_interval(lost, alpha), _num_tokens(measured), alpha)


def summarise(
    passes: Sequence[AccuracyPass],
    *,
    alpha: float,
    greedy_match_ratio: float | None = None,
    task_name: str | None = None,
) -> AccuracySample:
    """Return the worst of each figure over the passes; an unknown end is the worst there is.

    Args:
        passes: what was measured.
        alpha: miscoverage of each interval.
        greedy_match_ratio: share of free-running greedy tokens that are equal.
        task_name: name of the task that the prompts counted hits of; None when they did not.
    """
    filled = [each for each in passes if each.prompts]
    prompts = [prompt for each in filled for prompt in each.prompts]

    def ends(interval_of: Callable[[AccuracyPass, float], Interval]) -> list[Interval]:
        return [interval_of(each, alpha) for each in filled]

    kl, top1, nll = ends(kl_interval), ends(top1_interval), ends(nll_interval)
    return AccuracySample(
        num_tokens=sum(prompt.num_tokens for prompt in prompts),
        kl_mean=max((each.mean for each in kl), default=0.0),
        kl_mean_high=_known(max((each.high for each in kl), default=UNKNOWN)),
        top1_agreement_ratio=min((each.mean for each in top1), default=0.0),
        top1_agreement_low_ratio=max(min((each.low for each in top1), default=0.0), 0.0),
        nll_delta=max((each.mean for each in nll), default=0.0),
        nll_delta_high=_known(max((each.high for each in nll), default=UNKNOWN)),
        max_logprob_delta=max((prompt.max_logprob_delta for prompt in prompts), default=0.0),
        greedy_match_ratio=greedy_match_ratio,
        task=_worst_task(filled, task_name, alpha) if task_name is not None else None,
        alpha=alpha,
        passes=tuple(passes),
    )


def _worst_task(passes: Iterable[AccuracyPass], name: str, alpha: float) -> TaskScore | None:
    """Return the score of the pass that may have lost most; None without an interval."""
    scores = [_task_score(each, name, alpha) for each in passes if len(each.prompts) > 1]
    return max(scores, key=lambda score: score.drop_high, default=None)


def _task_score(measured: AccuracyPass, name: str, alpha: float) -> TaskScore:
    scores = [p.num_task_hits / p.num_tokens for p in measured.prompts]
    before = [p.num_baseline_task_hits / p.num_tokens for p in measured.prompts]
    drop = drop_interval(measured, alpha)
    return TaskScore(
        name=name,
        score=statistics.fmean(scores),
        standard_error=statistics.stdev(scores) / math.sqrt(len(scores)),
        num_items=_num_tokens(measured),
        baseline_score=statistics.fmean(before),
        drop_low=drop.low,
        drop_high=drop.high,
    )


def _at_least(interval: Interval, num_items: int, alpha: float) -> Interval:
    """Widen an interval of a share to what so many items can tell."""
    radius = least_radius(num_items, alpha)
    mean = interval.mean
    return Interval(mean, min(interval.low, mean - radius), max(interval.high, mean + radius))


def _num_tokens(measured: AccuracyPass) -> int:
    return sum(prompt.num_tokens for prompt in measured.prompts)


def _known(end: float) -> float:
    return min(end, UNKNOWN)
