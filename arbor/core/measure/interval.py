"""Intervals of a ratio from paired windows, valid at any stopping time."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from scipy.special import ndtri, stdtrit

from arbor.core.measure.foreign import load_sd
from arbor.events.types import Effect

T_MIXTURE_VARIANCE = 25.0
"""Prior variance of the standardised effect where the noise is not known.

Effects of kept actions are many times the noise of a pair; a wide prior needs the fewest pairs."""
NORMAL_MIXTURE_VARIANCE = 1.0
"""The same where a bound of the noise is known: short series lose little, long ones gain."""
MAX_LOG_RADIUS = 20.0
"""Stands for an interval that nothing bounds yet."""
END_SHARE = 0.4
"""Share of a reported interval's miscoverage that is kept for the planned end of a series."""
MIN_SD = 1e-4
"""Floor of a deviation, so that equal values claim no certainty."""


@dataclass(frozen=True, slots=True)
class Series:
    """Log ratios of candidate over incumbent, one sequence for every start of the arms."""

    starts: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, *starts: Sequence[float]) -> Self:
        """Return the series of some starts; empty ones are left out."""
        return cls(tuple(tuple(start) for start in starts if start))

    @property
    def num_pairs(self) -> int:
        """Pairs of all starts."""
        return sum(map(len, self.starts))

    @property
    def mean(self) -> float:
        """Mean log ratio over all pairs."""
        return statistics.fmean(value for start in self.starts for value in start)

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the deviation within starts."""
        return self.num_pairs - len(self.starts)

    @property
    def sd(self) -> float:
        """Pooled standard deviation within starts; 0 without degrees of freedom."""
        if self.degrees < 1:
            return 0.0
        means = [statistics.fmean(start) for start in self.starts]
        squares = math.fsum(
            (value - mean) ** 2
            for start, mean in zip(self.starts, means, strict=True)
            for value in start
        )
        return math.sqrt(squares / self.degrees)

    @property
    def start_weight(self) -> float:
        """Variance of the mean of the starts' biases, over the variance of one bias."""
        return math.fsum((len(start) / self.num_pairs) ** 2 for start in self.starts)


def t_mixture_radius(num: int, sd: float, alpha: float) -> float:
    """Return the half width of the anytime-valid interval of a mean, the noise not known.

    Inverts the scale-invariant t mixture: with right-Haar prior on the standard deviation and
    N(0, v) on the standardised effect, the Bayes factor is a test martingale, so the set
    where it stays below 1/alpha covers the mean at all times with probability 1 - alpha
    (Lai 1976; Wang and Ramdas, "Anytime-valid t-tests and confidence sequences", 2023).

    Args:
        num: number of observations.
        sd: their standard deviation.
        alpha: miscoverage over all times.

    Returns:
        The half width; infinite while too few observations bound it.
    """
    if num < 2:
        return math.inf
    degrees = num - 1
    spread = 1.0 + num * T_MIXTURE_VARIANCE
    exponent = (0.5 * math.log(spread) - math.log(alpha)) * 2.0 / num
    if exponent >= math.log(spread):
        return math.inf
    bound = math.exp(exponent)
    t_squared = degrees * (bound - 1.0) / (1.0 - bound / spread)
    return math.sqrt(t_squared / num) * sd


def normal_mixture_radius(num: int, sd: float, alpha: float) -> float:
    """Return the half width of the anytime-valid interval of a mean, the noise known.

    Inverts the normal mixture (Robbins 1970; Howard et al. 2021, "Time-uniform, nonparametric,
    nonasymptotic confidence sequences", equation 14).

    Args:
        num: number of observations.
        sd: their true standard deviation, or an upper bound of it.
        alpha: miscoverage over all times.
    """
    if num < 1:
        return math.inf
    spread = 1.0 + num * NORMAL_MIXTURE_VARIANCE
    square = spread / (num * num * NORMAL_MIXTURE_VARIANCE)
    return sd * math.sqrt(square * (math.log(spread) - 2.0 * math.log(alpha)))


def noise_radius(num: int, sd: float, alpha: float, noise_sd_high: float | None = None) -> float:
    """Return the half width that the noise of pairs leaves, valid at any stopping time.

    A bound from earlier series of the campaign is used only by a series that is no noisier
    itself; an outlier in a short series makes it wait.

    Args:
        num: pairs so far.
        sd: their standard deviation within starts.
        alpha: miscoverage over all times.
        noise_sd_high: upper bound of the deviation of a pair, when there is one.
    """
    own = t_mixture_radius(num, max(sd, MIN_SD), alpha)
    if noise_sd_high is None or sd > noise_sd_high:
        return own
    return min(own, normal_mixture_radius(num, max(noise_sd_high, MIN_SD), alpha))


def planned_noise_radius(num: int, sd: float, degrees: int, alpha: float) -> float:
    """Return the half width that the noise of a planned number of pairs leaves, a t interval's.

    Args:
        num: pairs, planned before the first one.
        sd: their standard deviation within starts.
        degrees: degrees of freedom of it; at least 1 is taken.
        alpha: miscoverage.
    """
    quantile = float(stdtrit(max(1, degrees), 1.0 - alpha / 2.0))
    return quantile * max(sd, MIN_SD) / math.sqrt(num)


def normal_quantile(probability: float) -> float:
    """Return the quantile of the standard normal distribution."""
    return float(ndtri(probability))


def start_radius(start_weight: float, start_sd: float, alpha: float) -> float:
    """Return the half width that the bias of server starts leaves.

    Args:
        start_weight: see ``Series.start_weight``; 1 / k for k equally long starts.
        start_sd: deviation of the log ratio from start to start.
        alpha: miscoverage.
    """
    return normal_quantile(1.0 - alpha / 2.0) * start_sd * math.sqrt(start_weight)


def radius(
    series: Series, alpha: float, *, start_sd: float, noise_sd_high: float | None = None
) -> float:
    """Return the half width of a series' interval: noise of pairs and bias of starts."""
    return min(
        MAX_LOG_RADIUS,
        math.hypot(
            noise_radius(series.num_pairs, series.sd, alpha, noise_sd_high),
            start_radius(series.start_weight, start_sd, alpha),
        ),
    )


def last_look_radius(series: Series, alpha: float, *, start_sd: float) -> float:
    """Return the half width of a t interval of a series that ends as long as planned."""
    return math.hypot(
        planned_noise_radius(series.num_pairs, series.sd, series.degrees, alpha),
        start_radius(series.start_weight, start_sd, alpha),
    )


def series_effect(
    series: Series,
    alpha: float,
    *,
    start_sd: float,
    noise_sd_high: float | None = None,
    max_pairs: int | None = None,
) -> Effect:
    """Return the effect of a series with its interval, valid at any stopping time.

    Where the planned end is known, part of the miscoverage is kept for a narrower interval there.

    Args:
        series: log ratios of its pairs.
        alpha: miscoverage.
        start_sd: assumed deviation of the log ratio from start to start.
        noise_sd_high: upper bound of the deviation of a pair, when there is one.
        max_pairs: planned end of the series.

    Raises:
        ValueError: there are no pairs.
    """
    if not series.starts:
        raise ValueError("an effect needs at least one pair; got 0")
    anytime = alpha if max_pairs is None else alpha * (1.0 - END_SHARE)
    width = radius(series, anytime, start_sd=start_sd, noise_sd_high=noise_sd_high)
    if max_pairs is not None and series.num_pairs >= max(2, max_pairs):
        last = last_look_radius(series, alpha * END_SHARE, start_sd=start_sd)
        width = min(width, last)
    return _effect(series, series.mean, width, alpha)


def claim_effect(series: Series, alpha: float, *, start_sd: float, foreign: float = 0.0) -> Effect:
    """Return the effect of a planned number of pairs on a planned number of starts.

    Windows of one start are not independent: identical servers differ from start to start. The
    variance of the mean is the pooled variance within starts over all pairs, plus the larger of
    the variance seen between starts and the assumed one, over the number of starts.

    Args:
        series: log ratios, one sequence a start.
        alpha: miscoverage of the interval.
        start_sd: assumed standard deviation of the log ratio between starts.
        foreign: share of the cores that other processes took; it widens the interval.

    Raises:
        ValueError: there are fewer than two pairs in all.
    """
    if series.num_pairs < 2:
        raise ValueError(f"a final effect needs two pairs; got {series.num_pairs}")
    means = [statistics.fmean(start) for start in series.starts]
    variance = series.sd**2
    seen = statistics.variance(means) if len(means) > 1 else 0.0
    between = max(seen - variance * len(means) / series.num_pairs, start_sd**2)
    error = math.sqrt(variance / series.num_pairs + between / len(means))
    quantile = float(stdtrit(max(1, series.degrees), 1.0 - alpha / 2.0))
    mean = statistics.fmean(means)
    loaded = normal_quantile(1.0 - alpha / 2.0) * load_sd(foreign, mean)
    return _effect(series, mean, math.hypot(quantile * error, loaded), alpha)


def _effect(series: Series, mean: float, width: float, alpha: float) -> Effect:
    return Effect(
        ratio=math.exp(mean),
        low=math.exp(mean - width),
        high=math.exp(mean + width),
        alpha=alpha,
        num_pairs=series.num_pairs,
        sd_log_ratio=series.sd,
        num_starts_per_arm=len(series.starts),
    )
