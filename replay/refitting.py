"""Recorded windows read again under another plan: where they suffice, and where they do not."""

import statistics
from collections.abc import Sequence

from arbor.core.measure.foreign import foreign_ratio
from arbor.core.measure.interval import claim_effect, series_effect
from arbor.core.measure.planning import calibrated_mde_ratio
from arbor.core.measure.sequential import decide
from arbor.core.requests import series_of
from arbor.events.base import Event
from arbor.events.errors import ArborError
from arbor.events.evidence import BenchmarkMeasured, NoiseCalibrated, PairMeasured
from arbor.events.requests import MeasurementRequested
from arbor.events.settings import MeasureSettings
from arbor.events.types import SeriesPlan

_MIN_THROUGHPUT = 1e-9


class NotRecordedError(ArborError):
    """Nothing in the log answers this."""


def refit(
    events: Sequence[Event],
    recorded: MeasurementRequested,
    asked: MeasurementRequested,
    settings: MeasureSettings,
) -> tuple[Event, ...]:
    """Return the events that answered a request, as the same windows answer another plan.

    Args:
        events: pairs and the result of the last attempt, in order, and whatever else came.
        recorded: the request that they answered.
        asked: the request that they shall answer.
        settings: how effects are measured and judged now.

    Raises:
        NotRecordedError: the other plan wants pairs that were not measured.
    """
    result = events[-1]
    if isinstance(result, NoiseCalibrated):
        return _refit_noise(events, result, settings)
    if not isinstance(result, BenchmarkMeasured) or asked.plan is None:
        return tuple(events)
    if asked.plan == recorded.plan:
        return tuple(events)
    if result.purpose == "revalidation":
        return _refit_claim(events, result, asked.plan, settings)
    return _refit_series(events, result, asked.plan, settings)


def _own_pairs(events: Sequence[Event], attempt_id: str | None) -> list[PairMeasured]:
    """Return the valid pairs of the objective's own workload of one attempt."""
    return [
        event
        for event in events
        if isinstance(event, PairMeasured)
        and event.attempt_id == attempt_id
        and event.is_valid
        and not event.guard
    ]


def _without(events: Sequence[Event], dropped: Sequence[PairMeasured]) -> list[Event]:
    unwanted = {id(pair) for pair in dropped}
    return [event for event in events[:-1] if id(event) not in unwanted]


def _refit_noise(
    events: Sequence[Event], result: NoiseCalibrated, settings: MeasureSettings
) -> tuple[Event, ...]:
    pairs = _own_pairs(events, result.attempt_id)
    wanted = settings.noise_pairs
    if len(pairs) < wanted:
        raise NotRecordedError(
            f"the calibration of noise has {len(pairs)} pairs, measure.noise_pairs wants {wanted}"
        )
    effect = series_effect(series_of(pairs[:wanted]), settings.alpha, start_sd=0.0)
    again = result.model_copy(
        update={"effect": effect, "mde_ratio": calibrated_mde_ratio(settings, effect)}
    )
    return (*_without(events, pairs[wanted:]), again)


def _refit_series(
    events: Sequence[Event],
    result: BenchmarkMeasured,
    plan: SeriesPlan,
    settings: MeasureSettings,
) -> tuple[Event, ...]:
    pairs = _own_pairs(events, result.attempt_id)
    for number in range(1, len(pairs) + 1):
        then = decide(series_of(pairs[:number]), plan)
        if then == "restart":
            if number < len(pairs) and pairs[number].start == pairs[number - 1].start:
                raise NotRecordedError(
                    f"the changed plan takes a fresh start after pair {number} of"
                    f" {result.node_id}, the recorded one did not"
                )
            continue
        if then is not None:
            break
    else:
        raise NotRecordedError(
            f"{len(pairs)} pairs of {result.node_id} were recorded, and the changed plan is not"
            " decided by them"
        )
    is_gain = then == "gain"
    if is_gain and {guard.name for guard in settings.guards} != {g.name for g in result.guards}:
        raise NotRecordedError(
            f"the changed plan proves a gain of {result.node_id}, and its guard workloads were"
            " not measured"
        )
    effect = series_effect(
        series_of(pairs[:number]),
        settings.alpha,
        start_sd=plan.start_sd,
        noise_sd_high=plan.noise_sd_high,
        max_pairs=plan.max_pairs,
    )
    again = result.model_copy(
        update={
            "effect": effect,
            "stop": then,
            "guards": result.guards if is_gain else (),
            "mean_throughput_tok_s": _throughput(pairs[:number]),
        }
    )
    return (*_without(events, pairs[number:]), again)


def _refit_claim(
    events: Sequence[Event],
    result: BenchmarkMeasured,
    plan: SeriesPlan,
    settings: MeasureSettings,
) -> tuple[Event, ...]:
    pairs = _own_pairs(events, result.attempt_id)
    chosen: list[PairMeasured] = []
    for start in range(1, plan.max_starts + 1):
        own = [pair for pair in pairs if pair.start == start]
        if len(own) < plan.max_pairs:
            raise NotRecordedError(
                f"the changed claim wants {plan.max_pairs} pairs on each of {plan.max_starts}"
                f" starts; start {start} has {len(own)}"
            )
        chosen += own[: plan.max_pairs]
    effect = claim_effect(
        series_of(chosen), settings.alpha, start_sd=plan.start_sd, foreign=foreign_ratio(chosen)
    )
    again = result.model_copy(
        update={"effect": effect, "mean_throughput_tok_s": _throughput(chosen)}
    )
    kept = {id(pair) for pair in chosen}
    return (*_without(events, [pair for pair in pairs if id(pair) not in kept]), again)


def _throughput(pairs: Sequence[PairMeasured]) -> float:
    return statistics.geometric_mean(
        [max(pair.candidate.throughput_tok_s, _MIN_THROUGHPUT) for pair in pairs]
    )
