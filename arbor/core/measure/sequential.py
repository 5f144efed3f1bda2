"""When to stop measuring: as soon as the pairs decide, never later than planned."""

import math
from collections.abc import Sequence
from typing import Literal

from arbor.core.measure.interval import (
    MIN_SD,
    Series,
    last_look_radius,
    noise_radius,
    normal_quantile,
    planned_noise_radius,
    radius,
    start_radius,
)
from arbor.events.types import GuardEffect, SeriesPlan

Stop = Literal["gain", "no_gain", "max_pairs"]
Next = Stop | Literal["restart"]

FUTILITY_ALPHA = 0.3
"""Miscoverage of the bound that ends a hopeless series; it can only cost power, never a false
keep, so it may be loose."""
FUTILITY_QUANTILE = 0.95
"""A series goes on while the rest of its pairs would prove a gain with chance 0.05 or more."""
LAST_LOOK_SHARE = 0.7
"""Share of a test's level that is kept for its planned end."""
POWER_RATIO = 0.8
"""Power that a smallest detectable effect is stated for."""
PLANNED_POWER_RATIO = 0.88
"""Power without giving series up that leaves the stated one when some are."""
UNEVEN_STARTS_RATIO = 1.3
"""Weight of the starts' biases over that of starts with equally many pairs."""


def has_gain(series: Series, plan: SeriesPlan) -> bool:
    """Return whether a series proves a gain: above 1 at the plan's level, and large enough.

    Only a gain can be proved, so the level is that of one side: half of a two-sided interval's.
    There are two ways to prove it, which share the level: at any time by the interval that holds
    at any stopping time, and once at the planned end by a t test, which needs fewer pairs.
    """
    if series.num_pairs < plan.min_pairs or series.mean < math.log(plan.min_gain_ratio):
        return False
    anytime = radius(
        series,
        _anytime_alpha(plan),
        start_sd=plan.start_sd,
        noise_sd_high=plan.noise_sd_high,
    )
    if series.mean > anytime:
        return True
    if series.num_pairs < plan.max_pairs:
        return False
    alpha = _last_look_alpha(plan)
    return series.mean > last_look_radius(series, alpha, start_sd=plan.start_sd)


def _anytime_alpha(plan: SeriesPlan) -> float:
    """Return the miscoverage of the two-sided interval that a gain is proved with at any time."""
    return 2.0 * plan.alpha * (1.0 - LAST_LOOK_SHARE)


def _last_look_alpha(plan: SeriesPlan) -> float:
    """Return the miscoverage of the two-sided interval at the planned end."""
    return 2.0 * plan.alpha * LAST_LOOK_SHARE


def gain_verdict(series: Series, plan: SeriesPlan) -> tuple[bool, str]:
    """Return whether a series proves a gain, and what is missing when it does not."""
    if has_gain(series, plan):
        return True, ""
    if series.num_pairs >= plan.min_pairs and series.mean < math.log(plan.min_gain_ratio):
        return False, f"below the smallest gain that counts, {plan.min_gain_ratio:.3f}x"
    return False, f"no gain proved at level {plan.alpha:.2g}"


def guard_violation(guards: Sequence[GuardEffect]) -> str | None:
    """Return the first guard workload that became worse than is let pass, or None."""
    for guard in guards:
        effect = guard.effect
        if effect.ratio < 1.0 - guard.max_loss_ratio:
            return (
                f"{guard.name} got worse: {effect.ratio:.3f}x "
                f"[{effect.low:.3f}, {effect.high:.3f}], {guard.max_loss_ratio:.0%} is let pass"
            )
    return None


def decide(series: Series, plan: SeriesPlan) -> Next | None:
    """Return why a series ends here, ``restart`` for a fresh start of both arms, None to go on.

    ``gain``: proved. ``no_gain``: the smallest gain that counts lies above a loose upper bound, or
    the rest of the pairs would hardly prove one.
    """
    num = series.num_pairs
    if num < plan.min_pairs:
        return None
    if has_gain(series, plan):
        return "gain"
    if _is_futile(series, plan):
        return "no_gain"
    if num >= plan.max_pairs:
        return "max_pairs"
    return "restart" if _needs_start(series, plan) else None


def _is_futile(series: Series, plan: SeriesPlan) -> bool:
    loose = radius(
        series, FUTILITY_ALPHA, start_sd=plan.start_sd, noise_sd_high=plan.noise_sd_high
    )
    if series.mean + loose < math.log(plan.min_gain_ratio):
        return True
    num = series.num_pairs
    if num * 6 < plan.max_pairs:
        return False
    sd = max(series.sd, plan.noise_sd or 0.0)
    left = max(0.0, 1.0 / num - 1.0 / plan.max_pairs) * sd**2
    starts_left = max(0.0, series.start_weight - _planned_weight(plan)) * plan.start_sd**2
    reach = normal_quantile(FUTILITY_QUANTILE) * math.sqrt(left + starts_left)
    return series.mean + reach < _needed(plan, sd)


def _planned_weight(plan: SeriesPlan) -> float:
    """Return the expected start weight at the planned end; starts are of uneven length."""
    return UNEVEN_STARTS_RATIO / plan.max_starts if plan.max_starts > 1 else 1.0


def _needed(plan: SeriesPlan, sd: float) -> float:
    """Return the mean log ratio that proves a gain with all pairs and starts of a plan."""
    weight = _planned_weight(plan)
    last_alpha = _last_look_alpha(plan)
    degrees = plan.max_pairs - plan.max_starts
    at_the_end = math.hypot(
        planned_noise_radius(plan.max_pairs, sd, degrees, last_alpha),
        start_radius(weight, plan.start_sd, last_alpha),
    )
    alpha, high = _anytime_alpha(plan), plan.noise_sd_high
    anytime = math.hypot(
        noise_radius(plan.max_pairs, sd, alpha, None if high is None else max(high, sd)),
        start_radius(weight, plan.start_sd, alpha),
    )
    return max(min(at_the_end, anytime), math.log(plan.min_gain_ratio))


def _needs_start(series: Series, plan: SeriesPlan) -> bool:
    """Return whether the present starts have told what they can.

    They have when their bias, not noise, keeps a gain from being proved, or when the latest one
    has its share of the pairs.
    """
    num_starts, num_latest = len(series.starts), len(series.starts[-1])
    if num_starts >= plan.max_starts or num_latest < 2:
        return False
    if series.mean < math.log(plan.min_gain_ratio):
        return False
    if num_latest * plan.max_starts >= plan.max_pairs:
        return True
    alpha = _anytime_alpha(plan)
    noise = noise_radius(series.num_pairs, series.sd, alpha, plan.noise_sd_high)
    return noise < start_radius(series.start_weight, plan.start_sd, alpha)


def mde_ratio(plan: SeriesPlan, noise_sd: float) -> float:
    """Return the smallest ratio that a plan finds with power 0.8.

    The effect must clear what proves a gain with all pairs by a normal quantile, and somewhat
    more: series that are given up and starts of uneven length cost power.

    Args:
        plan: how the series is measured.
        noise_sd: standard deviation of a pair's log ratio.
    """
    sd = max(noise_sd, MIN_SD)
    error = math.sqrt(sd**2 / plan.max_pairs + plan.start_sd**2 * _planned_weight(plan))
    return math.exp(_needed(plan, sd) + normal_quantile(PLANNED_POWER_RATIO) * error)


def expected_pairs(ratio: float, plan: SeriesPlan) -> int:
    """Return how many pairs it should take to prove a gain of ``ratio``.

    The smallest number at which the half width is below the gain; ``max_pairs`` when none is.
    """
    margin = math.log(max(ratio, 1e-9))
    sd = plan.noise_sd or 0.0
    alpha = _anytime_alpha(plan)
    starts = start_radius(1.0 / plan.max_starts, plan.start_sd, alpha)
    for num in range(plan.min_pairs, plan.max_pairs):
        if math.hypot(noise_radius(num, sd, alpha, plan.noise_sd_high), starts) < margin:
            return num
    return plan.max_pairs
