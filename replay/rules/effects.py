"""Every claimed effect is computed again from its raw windows."""

import math
import statistics
from collections import defaultdict

from arbor.core.measure.foreign import foreign_ratio
from arbor.core.measure.interval import Series, claim_effect, series_effect
from arbor.core.measure.objective import objective_value
from arbor.core.measure.planning import calibrated_mde_ratio
from arbor.core.measure.sequential import decide
from arbor.core.requests import series_of
from arbor.events.campaign import CampaignStarted
from arbor.events.errors import InvalidInputError
from arbor.events.evidence import BenchmarkMeasured, NoiseCalibrated, PairMeasured
from arbor.events.requests import MeasurementRequested
from arbor.events.settings import MeasureSettings
from arbor.events.types import Effect, SeriesPlan
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
        num_devices = 1
        asked: dict[str, MeasurementRequested] = {}
        pairs: dict[tuple[str, str | None], list[PairMeasured]] = defaultdict(list)
        for recorded in evidence.events:
            event = recorded.event
            problem: str | None = None
            match event:
                case CampaignStarted():
                    settings = event.settings.measure
                    num_devices = event.hardware.num_devices
                    continue
                case MeasurementRequested():
                    asked[event.request_id] = event
                    continue
                case PairMeasured():
                    pairs[event.request_id, event.attempt_id].append(event)
                    problem = _pair_problem(event, settings, num_devices)
                case NoiseCalibrated() | BenchmarkMeasured():
                    own = [p for p in pairs[event.request_id, event.attempt_id] if p.is_valid]
                    problem = _result_problem(event, own, settings, asked.get(event.request_id))
                case _:
                    continue
            findings.require(problem is None, recorded.position, problem or "")


def _pair_problem(pair: PairMeasured, settings: MeasureSettings, num_devices: int) -> str | None:
    objective = next(
        (guard.objective for guard in settings.guards if guard.name == pair.guard),
        settings.objective,
    )
    arms = (
        (pair.candidate, *pair.candidate_sweep),
        (pair.incumbent, *pair.incumbent_sweep),
    )
    try:
        own, other = (objective_value(windows, objective, num_devices) for windows in arms)
    except InvalidInputError as error:
        return f"pair {pair.pair} cannot be recomputed: {error}"
    expected = math.log(own / other)
    if is_close(pair.log_ratio, expected):
        return None
    return f"pair {pair.pair}: log ratio {pair.log_ratio!r}, its windows give {expected!r}"


def _result_problem(
    result: NoiseCalibrated | BenchmarkMeasured,
    pairs: list[PairMeasured],
    settings: MeasureSettings,
    asked: MeasurementRequested | None,
) -> str | None:
    guard_pairs = [pair for pair in pairs if pair.guard]
    pairs = [pair for pair in pairs if not pair.guard]
    if not pairs:
        return f"{result.kind} has no valid pairs of its attempt"
    if any(pair.commit != result.commit for pair in pairs):
        return f"{result.kind} and its pairs are of different commits"
    try:
        if isinstance(result, NoiseCalibrated):
            return _noise_problem(result, pairs, settings)
        return _benchmark_problem(result, pairs, settings, asked) or _guards_problem(
            result, guard_pairs, settings
        )
    except (ValueError, ArithmeticError) as error:
        return f"{result.kind} cannot be recomputed: {error}"


def _noise_problem(
    result: NoiseCalibrated, pairs: list[PairMeasured], settings: MeasureSettings
) -> str | None:
    effect = series_effect(series_of(pairs), settings.alpha, start_sd=0.0)
    if (text := _differs(effect, result.effect)) is not None:
        return text
    expected = calibrated_mde_ratio(settings, effect)
    if is_close(expected, result.mde_ratio):
        return None
    return f"smallest effect {result.mde_ratio!r}, the pairs give {expected!r}"


def _benchmark_problem(
    result: BenchmarkMeasured,
    pairs: list[PairMeasured],
    settings: MeasureSettings,
    asked: MeasurementRequested | None,
) -> str | None:
    if asked is None or asked.plan is None:
        return f"{result.request_id} has no plan to hold its pairs against"
    plan = asked.plan
    if result.purpose == "revalidation":
        effect = claim_effect(
            series_of(pairs),
            settings.alpha,
            start_sd=plan.start_sd,
            foreign=foreign_ratio(p for p in pairs if not p.guard),
        )
    else:
        effect = series_effect(
            series_of(pairs),
            settings.alpha,
            start_sd=plan.start_sd,
            noise_sd_high=plan.noise_sd_high,
            max_pairs=plan.max_pairs,
        )
        if (text := _stop_problem(result, pairs, plan)) is not None:
            return text
    if (text := _differs(effect, result.effect)) is not None:
        return text
    throughputs = [max(p.candidate.throughput_tok_s, MIN_THROUGHPUT) for p in pairs]
    mean = statistics.geometric_mean(throughputs)
    if not is_close(mean, result.mean_throughput_tok_s):
        return f"mean throughput {result.mean_throughput_tok_s!r}, its windows give {mean!r}"
    return _witness_problem(result, pairs, asked)


def _guards_problem(
    result: BenchmarkMeasured, pairs: list[PairMeasured], settings: MeasureSettings
) -> str | None:
    for found in result.guards:
        own = [pair.log_ratio for pair in pairs if pair.guard == found.name]
        effect = series_effect(Series.of(own), settings.alpha, start_sd=settings.start_sd)
        if (text := _differs(effect, found.effect)) is not None:
            return f"guard {found.name}: {text}"
    return None


def _stop_problem(
    result: BenchmarkMeasured, pairs: list[PairMeasured], plan: SeriesPlan
) -> str | None:
    """Return how the end of a series differs from the first moment at which it decides."""
    for number in range(1, len(pairs)):
        then = decide(series_of(pairs[:number]), plan)
        if then == "restart" and pairs[number].start == pairs[number - 1].start:
            return f"the series went on after pair {number} without the fresh start it needed"
        if then not in {None, "restart"}:
            return f"the series went on after pair {number} had decided it ({then})"
    expected = decide(series_of(pairs), plan)
    expected = "max_pairs" if expected in {None, "restart"} else expected
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
