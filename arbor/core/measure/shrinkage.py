"""What measured effects are worth after selection: empirical Bayes over all series."""

import math
import statistics
from collections.abc import Sequence

from arbor.events.types import Effect


def shrunk_ratios(effects: Sequence[Effect], *, start_sd: float) -> tuple[float, ...]:
    """Return the ratios shrunk towards 1, in the order given.

    Whoever keeps the largest of many noisy effects keeps the luckiest: their measured ratios are
    too high on average. With a normal prior of mean 0 and variance t2 on the true log ratios, and
    a measured one y of variance v, the mean of the posterior is y t2 / (t2 + v). t2 is found by
    the method of moments over all series of the campaign, kept or not, since E[y^2] = t2 + v
    (Efron and Morris, "Stein's estimation rule and its competitors", 1973).

    Args:
        effects: one measured series each.
        start_sd: standard deviation of the log ratio from server start to server start, which the
            pairs of a series do not show.
    """
    measured = [math.log(effect.ratio) for effect in effects]
    variances = [log_ratio_variance(effect, start_sd) for effect in effects]
    prior = _prior_variance(measured, variances)
    return tuple(
        math.exp(value * prior / (prior + variance) if prior > 0.0 else 0.0)
        for value, variance in zip(measured, variances, strict=True)
    )


def log_ratio_variance(effect: Effect, start_sd: float) -> float:
    """Return the variance of a series' mean log ratio."""
    within = effect.sd_log_ratio**2 / max(1, effect.num_pairs)
    return within + start_sd**2 / effect.num_starts_per_arm


def _prior_variance(measured: Sequence[float], variances: Sequence[float]) -> float:
    """Return the variance of true log ratios around 0; 0 when noise explains all of them."""
    if not measured:
        return 0.0
    excess = [y * y - v for y, v in zip(measured, variances, strict=True)]
    return max(0.0, statistics.fmean(excess))
