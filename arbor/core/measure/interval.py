"""Intervals of a ratio from paired windows, valid at any stopping time."""

import math
import statistics
from collections.abc import Sequence

from scipy.special import stdtrit

from arbor.events.types import Effect

MIXTURE_VARIANCE = 25.0
"""Prior variance of the standardised effect (mean over standard deviation).

Effects of kept actions are many times the noise of a pair, so the prior is wide; a wide prior
needs the fewest pairs for large effects and costs little for small ones."""

START_SD = 0.012
"""Assumed deviation of the log ratio from start to start: identical servers differed by 1.2 %."""


def mixture_radius(num: int, sd: float, alpha: float, variance: float = MIXTURE_VARIANCE) -> float:
    """Return the half width of the anytime-valid interval of a mean.

    Inverts the scale-invariant t mixture: with right-Haar prior on the standard deviation and
    N(0, variance) on the standardised effect, the Bayes factor is a test martingale, so the set
    where it stays below 1/alpha covers the mean at all times with probability 1 - alpha
    (Lai 1976; Wang and Ramdas, "Anytime-valid t-tests and confidence sequences", 2023).

    Args:
        num: number of observations.
        sd: their standard deviation.
        alpha: miscoverage over all times.
        variance: prior variance of the standardised effect.

    Returns:
        The half width; infinite while too few observations bound it.
    """
    if num < 2:
        return math.inf
    degrees = num - 1
    spread = 1.0 + num * variance
    bound = math.exp((0.5 * math.log(spread) - math.log(alpha)) * 2.0 / num)
    if bound >= spread:
        return math.inf
    t_squared = degrees * (bound - 1.0) / (1.0 - bound / spread)
    return math.sqrt(t_squared / num) * sd


def effect_of(
    log_ratios: Sequence[float], alpha: float, *, min_sd: float = 1e-4, num_starts: int = 1
) -> Effect:
    """Return the effect of a series of pairs with its anytime-valid interval.

    Args:
        log_ratios: natural logarithms of candidate over incumbent, one a pair.
        alpha: miscoverage at any stopping time.
        min_sd: floor of the standard deviation, so that equal values claim no certainty.
        num_starts: server starts per arm behind the pairs.

    Raises:
        ValueError: there are no pairs.
    """
    if not log_ratios:
        raise ValueError("an effect needs at least one pair; got 0")
    mean = statistics.fmean(log_ratios)
    sd = statistics.stdev(log_ratios) if len(log_ratios) > 1 else 0.0
    radius = min(mixture_radius(len(log_ratios), max(sd, min_sd), alpha), 20.0)
    return Effect(
        ratio=math.exp(mean),
        low=math.exp(mean - radius),
        high=math.exp(mean + radius),
        alpha=alpha,
        num_pairs=len(log_ratios),
        sd_log_ratio=sd,
        num_starts_per_arm=num_starts,
    )


def clustered_effect(
    starts: Sequence[Sequence[float]], alpha: float, *, start_sd: float
) -> Effect:
    """Return the effect over several server starts per arm, at a planned number of pairs.

    Windows of one start are not independent: identical servers differ from start to start. The
    variance of the mean is the pooled variance within starts over all pairs, plus the larger of
    the variance seen between starts and the assumed one, over the number of starts.

    Args:
        starts: log ratios, one sequence a start.
        alpha: miscoverage of the interval.
        start_sd: assumed standard deviation of the log ratio between starts.

    Raises:
        ValueError: a start has no pairs, or there are fewer than two pairs in all.
    """
    pooled = [value for start in starts for value in start]
    if len(pooled) < 2 or not all(starts):
        raise ValueError(f"a final effect needs two pairs and no empty start; got {starts!r}")
    means = [statistics.fmean(start) for start in starts]
    degrees = max(1, len(pooled) - len(starts))
    within = sum(
        (value - mean) ** 2 for start, mean in zip(starts, means, strict=True) for value in start
    )
    within_variance = within / degrees
    seen = statistics.variance(means) if len(means) > 1 else 0.0
    between = max(seen - within_variance * len(starts) / len(pooled), start_sd**2)
    mean = statistics.fmean(means)
    error = math.sqrt(within_variance / len(pooled) + between / len(starts))
    radius = float(stdtrit(degrees, 1.0 - alpha / 2.0)) * error
    return Effect(
        ratio=math.exp(mean),
        low=math.exp(mean - radius),
        high=math.exp(mean + radius),
        alpha=alpha,
        num_pairs=len(pooled),
        sd_log_ratio=math.sqrt(within_variance),
        num_starts_per_arm=len(starts),
    )
