"""Plans of series: level, length and starts, fixed before the first pair is measured."""

import math

from scipy.special import stdtrit

from arbor.core.measure.discovery import next_level
from arbor.core.measure.interval import MAX_LOG_RADIUS
from arbor.core.measure.noise import NoisePool
from arbor.core.measure.sequential import mde_ratio
from arbor.events.settings import MeasureSettings
from arbor.events.types import Effect, SeriesPlan

PAIRS_PER_START = 4
"""Shorter starts would tell more about themselves than about the effect."""
MAX_CANDIDATE_WINDOWS = 4
"""Windows of the final stack against one of the baseline."""
MAX_CLAIM_PAIRS = 400
"""Bound for a width that the bias of starts makes unreachable."""


def series_plan(
    measure: MeasureSettings,
    noise: NoisePool,
    *,
    num_tests: int,
    num_discoveries: int,
    max_pairs: int,
) -> SeriesPlan:
    """Return the plan of the next benchmark.

    Args:
        measure: the campaign's settings.
        noise: what earlier pairs say about the noise.
        num_tests: benchmarks judged so far.
        num_discoveries: those of them that were accepted.
        max_pairs: longest series.
    """
    plan = SeriesPlan(
        alpha=next_level(num_tests + 1, num_discoveries, measure.false_discovery_ratio),
        min_pairs=min(measure.min_pairs, max_pairs),
        max_pairs=max_pairs,
        max_starts=min(measure.max_starts, max(1, max_pairs // PAIRS_PER_START)),
        min_gain_ratio=measure.min_gain_ratio,
        start_sd=measure.start_sd,
        noise_sd=noise.sd,
        noise_sd_high=noise.sd_high,
    )
    if noise.sd is None:
        return plan
    return plan.model_copy(update={"mde_ratio": mde_ratio(plan, noise.sd)})


def windows_of_candidate(gain_ratio: float) -> int:
    """Return how many windows a stack faster by ``gain_ratio`` plays against one of the baseline.

    Together they take about half as long as the baseline's.
    """
    return max(1, min(MAX_CANDIDATE_WINDOWS, round(gain_ratio / 2.0)))


def claim_plan(
    measure: MeasureSettings,
    noise: NoisePool,
    *,
    root_window_s: float,
    gain_ratio: float,
    longest_s: float,
) -> SeriesPlan:
    """Return the plan of the final claim: starts, and pairs on each of them.

    As many pairs as the aimed width of the interval needs, as far as the time allows.

    Args:
        measure: the campaign's settings.
        noise: what earlier pairs say about the noise.
        root_window_s: seconds of a window on the baseline.
        gain_ratio: expected speed-up of the final stack.
        longest_s: seconds that its windows may take; its fewest pairs are measured even so.
    """
    num_windows = windows_of_candidate(gain_ratio)
    wanted = _pairs_for_width(measure, noise.sd or 0.0)
    pair_s = claim_pair_s(root_window_s, gain_ratio)
    allowed = math.floor(max(0.0, longest_s) / max(pair_s, 1e-9) / measure.final_starts)
    per_start = min(math.ceil(wanted / measure.final_starts), allowed)
    return SeriesPlan(
        alpha=measure.alpha,
        min_pairs=measure.final_pairs,
        max_pairs=max(measure.final_pairs, per_start),
        max_starts=measure.final_starts,
        candidate_windows=num_windows,
        min_gain_ratio=1.0,
        start_sd=measure.start_sd,
        noise_sd=noise.sd,
        noise_sd_high=noise.sd_high,
    )


def claim_pair_s(root_window_s: float, gain_ratio: float) -> float:
    """Return the expected seconds of a pair of the baseline and a stack that is faster."""
    return root_window_s * (1.0 + windows_of_candidate(gain_ratio) / gain_ratio)


def _pairs_for_width(measure: MeasureSettings, noise_sd: float) -> int:
    """Return the pairs in all with which the final claim's interval has the aimed width."""
    half = math.log1p(measure.final_width_ratio) / 2.0
    num_starts = measure.final_starts
    starts = measure.start_sd**2 / num_starts
    for num in range(2 * num_starts, MAX_CLAIM_PAIRS):
        quantile = float(stdtrit(num - num_starts, 1.0 - measure.alpha / 2.0))
        if quantile * math.sqrt(noise_sd**2 / num + starts) <= half:
            return num
    return MAX_CLAIM_PAIRS


def calibrated_mde_ratio(measure: MeasureSettings, calibration: Effect) -> float:
    """Return the smallest effect that a campaign's first series finds with power 0.8.

    Args:
        measure: the campaign's settings.
        calibration: effect between two servers of the same commit.
    """
    noise = NoisePool()
    noise.add(calibration)
    plan = series_plan(measure, noise, num_tests=0, num_discoveries=0, max_pairs=measure.max_pairs)
    return plan.mde_ratio if plan.mde_ratio is not None else math.exp(MAX_LOG_RADIUS)
