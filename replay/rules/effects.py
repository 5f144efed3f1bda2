"""Every claimed effect is computed again from its raw windows."""

import math
import statistics
from collections import defaultdict

from arbor.core.measure.interval import START_SD, clustered_effect, effect_of
from arbor.core.measure.sequential import decide, mde_ratio
from arbor.events.campaign import CampaignStarted
from arbor.events.evidence import BenchmarkMeasured, NoiseCalibrated, PairMeasured
from arbor.events.requests import MeasurementRequested
from arbor.events.settings import MeasureSettings
from arbor.events.types import Effect
from arbor.replay.rules.base import Evidence, Findings, difference, is_close

MIN_THROUGHPUT = 1e-9
"""Throughput of a window without tokens, so that its logarithm exists."""


class EffectsFollowFromPairs:
    """Log ratios from throughputs, effects and stops from log ratios."""

    name = "effects"
    title = "log ratios, intervals, stops and witnesses follow from the raw windows"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Recompute every number that a keep could rest on."""
        settings = MeasureSettings()
        asked: dict[str, MeasurementRequested] = {}
        pairs: dict[tuple[str, str | None], list[PairMeasured]] = defaultdict(list)
        for recorded in evidence.events:
            event = recorded.event
            problem: str | None = None
            match event:
                case CampaignStarted():
                    settings = event.settings.measure
                    continue
                case MeasurementRequested():
                    asked[event.request_id] = event
                    continue
                case PairMeasured():
                    pairs[event.request_id, event.attempt_id].append(event)
                    problem = _pair_problem(event)
                case NoiseCalibrated() | BenchmarkMeasured():
                    own = [p for p in pairs[event.request_id, event.attempt_id] if p.is_valid]
                    problem = _result_problem(event, own, settings, asked.get(event.request_id))
                case _:
                    continue
            findings.require(problem is None, recorded.position, problem or "")


def _pair_problem(pair: PairMeasured) -> str | None:
    candidate = max(pair.candidate.throughput_tok_s, MIN_THROUGHPUT)
    incumbent = max(pair.incumbent.throughput_tok_s, MIN_THROUGHPUT)
    expected = math.log(candidate / incumbent)
    if is_close(pair.log_ratio, expected):
        return None
    return f"pair {pair.pair}: log ratio {pair.log_ratio!r}, its windows give {expected!r}"


def _result_problem(
    result: NoiseCalibrated | BenchmarkMeasured,
    pairs: list[PairMeasured],
    settings: MeasureSettings,
    asked: MeasurementRequested | None,
) -> str | None:
    if not pairs:
        return f"{result.kind} has no valid pairs of its attempt"
    if any(pair.commit != result.commit for pair in pairs):
        return f"{result.kind} and its pairs are of different commits"
    try:
        if isinstance(result, NoiseCalibrated):
            return _noise_problem(result, pairs, settings)
        return _benchmark_problem(result, pairs, settings, asked)
    except (ValueError, ArithmeticError) as error:
        return f"{result.kind} cannot be recomputed: {error}"


def _noise_problem(
    result: NoiseCalibrated, pairs: list[PairMeasured], settings: MeasureSettings
) -> str | None:
    effect = effect_of([pair.log_ratio for pair in pairs], settings.alpha)
    if (text := _differs(effect, result.effect)) is not None:
        return text
    expected = mde_ratio(max(effect.sd_log_ratio, 1e-4), settings)
    if is_close(expected, result.mde_ratio):
        return None
    return f"smallest effect {result.mde_ratio!r}, the pairs give {expected!r}"


def _benchmark_problem(
    result: BenchmarkMeasured,
    pairs: list[PairMeasured],
    settings: MeasureSettings,
    asked: MeasurementRequested | None,
) -> str | None:
    ratios = [pair.log_ratio for pair in pairs]
    if result.purpose == "revalidation":
        starts: dict[int, list[float]] = defaultdict(list)
        for pair in pairs:
            starts[pair.start].append(pair.log_ratio)
        effect = clustered_effect(list(starts.values()), settings.alpha, start_sd=START_SD)
    else:
        effect = effect_of(ratios, settings.alpha)
        series = settings.with_max_pairs(asked.max_pairs if asked is not None else None)
        if (text := _stop_problem(result, ratios, series)) is not None:
            return text
    if (text := _differs(effect, result.effect)) is not None:
        return text
    throughputs = [max(p.candidate.throughput_tok_s, MIN_THROUGHPUT) for p in pairs]
    mean = statistics.geometric_mean(throughputs)
    if not is_close(mean, result.mean_throughput_tok_s):
        return f"mean throughput {result.mean_throughput_tok_s!r}, its windows give {mean!r}"
    return _witness_problem(result, pairs, asked)


def _stop_problem(
    result: BenchmarkMeasured, ratios: list[float], settings: MeasureSettings
) -> str | None:
    """Return how the end of a series differs from the first moment at which it decides."""
    for number in range(1, len(ratios)):
        if (early := decide(ratios[:number], settings)) is not None:
            return f"the series went on after pair {number} had decided it ({early})"
    expected = decide(ratios, settings) or "max_pairs"
    return None if expected == result.stop else f"stopped for {result.stop}, not for {expected}"


def _witness_problem(
    result: BenchmarkMeasured, pairs: list[PairMeasured], asked: MeasurementRequested | None
) -> str | None:
    if asked is None or asked.witness is None or result.purpose == "revalidation":
        return None
    if asked.witness.kind != "counter":
        # The resolved configuration is seen by the bench alone.
        return None
    grown = all(
        any(c.key == asked.witness.key and c.value > 0 for c in pair.candidate.counters)
        for pair in pairs
    )
    if grown == result.has_witness:
        return None
    return f"says has_witness={result.has_witness}, the counters of its windows say {grown}"


def _differs(expected: Effect, found: Effect) -> str | None:
    text = difference(expected.model_dump(mode="json"), found.model_dump(mode="json"), "effect")
    return None if text is None else f"{text}, as its pairs give"
