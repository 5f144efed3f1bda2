"""When to stop measuring: as soon as the pairs decide, never later than the budget."""

import math
import statistics
from collections.abc import Sequence
from typing import Literal

from scipy.special import ndtri

from arbor.core.measure.interval import effect_of, mixture_radius
from arbor.events.settings import MeasureSettings

Stop = Literal["gain", "no_gain", "max_pairs"]

FUTILITY_ALPHA = 0.3
"""Miscoverage of the bound that ends a hopeless series; it can only cost power, never a false
keep, so it may be loose."""


def decide(log_ratios: Sequence[float], settings: MeasureSettings) -> Stop | None:
    """Return why the series ends here, or None to go on.

    ``gain``: the anytime-valid lower bound lies above the smallest gain that counts.
    ``no_gain``: the (loose) upper bound lies below it.
    """
    num = len(log_ratios)
    if num < settings.min_pairs:
        return None
    effect = effect_of(log_ratios, settings.alpha)
    if effect.low > settings.min_gain_ratio:
        return "gain"
    loose = effect_of(log_ratios, FUTILITY_ALPHA)
    threshold = math.log(settings.min_gain_ratio)
    if loose.high < settings.min_gain_ratio or (
        # A mean below the threshold after half of the pairs will not clear it.
        num >= max(settings.min_pairs, settings.max_pairs // 2)
        and statistics.fmean(log_ratios) < threshold
    ):
        return "no_gain"
    return "max_pairs" if num >= settings.max_pairs else None


def mde_ratio(sd_log_ratio: float, settings: MeasureSettings, power: float = 0.8) -> float:
    """Return the smallest ratio found with ``power`` within the allowed number of pairs.

    The effect must clear the smallest gain that counts by the radius of the interval and by the
    normal quantile of the power, both at ``max_pairs``.
    """
    num = settings.max_pairs
    radius = mixture_radius(num, sd_log_ratio, settings.alpha)
    reach = float(ndtri(power)) * sd_log_ratio / math.sqrt(num)
    return settings.min_gain_ratio * math.exp(radius + reach)


def expected_pairs(ratio: float, sd_log_ratio: float, settings: MeasureSettings) -> int:
    """Return how many pairs it should take to show a gain of ``ratio``.

    The smallest number at which the radius of the interval is below the gain beyond the smallest
    one that counts; ``max_pairs`` when none is.
    """
    margin = math.log(max(ratio, 1e-9) / settings.min_gain_ratio)
    for num in range(settings.min_pairs, settings.max_pairs):
        if mixture_radius(num, sd_log_ratio, settings.alpha) < margin:
            return num
    return settings.max_pairs
