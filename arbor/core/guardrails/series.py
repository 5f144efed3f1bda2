"""Guardrails on the series of pairs: more than noise, and without a trend."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
from scipy.special import stdtr

from arbor.core.guardrails.base import (
    HOLDS,
    Evidence,
    Guardrail,
    Severity,
    Verdict,
    broken,
    first,
    not_observed,
)
from arbor.events.evidence import PairMeasured

MIN_PAIRS = 3
"""Fewer pairs are single runs."""
NUM_DEVIATIONS = 2.0
MIN_TREND_PAIRS = 6
TREND_ALPHA = 0.003
"""One clean series in some hundreds may be flagged."""
MIN_RATIO_CHANGE = 0.02
MIN_SPEED_CHANGE = 0.05
"""Smaller changes over a series, in logarithms, do not matter even if they are real."""


class MoreThanNoise(Guardrail):
    """A gain within the spread of identical runs is luck."""

    name = "within_noise"
    severity: Severity = "suspect"
    anomaly = 19

    def judge(self, evidence: Evidence) -> Verdict:
        """Broken by a claimed gain from too few pairs, or within twice the calibrated error."""
        effect = evidence.result.effect
        if effect.low <= 1.0:
            return HOLDS
        if effect.num_pairs < MIN_PAIRS:
            return broken(f"a gain from {effect.num_pairs} pairs")
        if evidence.noise is None:
            return not_observed("a calibration of noise")
        error = evidence.noise.effect.sd_log_ratio / math.sqrt(effect.num_pairs)
        if math.log(effect.ratio) < NUM_DEVIATIONS * error:
            return broken(
                f"{effect.ratio:.3f}x over {effect.num_pairs} pairs; identical arms differ by "
                f"{math.expm1(NUM_DEVIATIONS * error):.1%}"
            )
        return HOLDS


class SteadyRatio(Guardrail):
    """A ratio that wanders means that one arm changes while it is measured."""

    name = "ratio_trend"
    severity: Severity = "suspect"
    anomaly = 0

    def judge(self, evidence: Evidence) -> Verdict:
        """Judge the log ratios of each start."""
        return _trends(evidence, lambda pair: pair.log_ratio, MIN_RATIO_CHANGE, "the ratio")


class SteadyIncumbent(Guardrail):
    """A machine that wanders; pairs cancel it, but the noise it brings is real."""

    name = "incumbent_trend"
    severity: Severity = "note"
    anomaly = 0

    def judge(self, evidence: Evidence) -> Verdict:
        """Judge the incumbent's throughput over each start."""
        return _trends(
            evidence,
            lambda pair: math.log(max(pair.incumbent.throughput_tok_s, 1e-9)),
            MIN_SPEED_CHANGE,
            "the incumbent's throughput",
        )


def trend(values: Sequence[float]) -> tuple[float, float]:
    """Return the change over a series and its two-sided p-value.

    The least-squares line against the index, with the t test of its slope, as
    ``scipy.stats.linregress`` does; that module alone takes half a second to import.

    Args:
        values: at least three values in order.
    """
    num = len(values)
    index = np.arange(num) - (num - 1) / 2.0
    y = np.asarray(values) - np.mean(values)
    spread = float(index @ index)
    slope = float(index @ y) / spread
    residual = float(y @ y) - slope * slope * spread
    change = slope * (num - 1)
    # rounding may leave a straight line a negative residual
    error = math.sqrt(max(residual, 0.0) / (num - 2) / spread)
    if error <= 1e-12 * abs(slope):
        return change, 0.0 if slope else 1.0
    return change, 2.0 * float(stdtr(num - 2, -abs(slope / error)))


def _trends(
    evidence: Evidence,
    value_of: Callable[[PairMeasured], float],
    min_change: float,
    subject: str,
) -> Verdict:
    starts = groupby(evidence.valid_pairs(), key=lambda pair: pair.start)
    return first(
        (f"start {start}: ", _trend([value_of(pair) for pair in pairs], min_change, subject))
        for start, pairs in starts
    )


def _trend(values: Sequence[float], min_change: float, subject: str) -> Verdict:
    if len(values) < MIN_TREND_PAIRS:
        return not_observed(f"{MIN_TREND_PAIRS} valid pairs of one start")
    change, chance = trend(values)
    if chance < TREND_ALPHA and abs(change) > min_change:
        return broken(
            f"{subject} moved by {math.expm1(change):+.1%} over {len(values)} pairs "
            f"(p = {chance:.1g})"
        )
    return HOLDS
