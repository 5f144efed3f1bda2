"""Requests for evidence as a fold: what was asked, what came, how it was judged."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from arbor.core.applying import Dispatcher
from arbor.core.budget import DRIVER
from arbor.core.measure.interval import Series
from arbor.events.base import Recorded
from arbor.events.choice import ActionWithdrawn
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
    ProfileTaken,
    SoakMeasured,
)
from arbor.events.judgement import MeasurementFlagged, MeasurementJudged
from arbor.events.life import IncarnationStarted
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import Crashed
from arbor.events.requests import MeasurementRequested
from arbor.events.work import AttemptStarted

Result = ProfileTaken | NoiseCalibrated | AccuracyMeasured | BenchmarkMeasured | SoakMeasured


def series_of(pairs: Iterable[PairMeasured]) -> Series:
    """Return the log ratios of the valid pairs of the objective's own workload, by start."""
    starts: dict[int, list[float]] = {}
    for pair in pairs:
        if pair.is_valid and not pair.guard:
            starts.setdefault(pair.start, []).append(pair.log_ratio)
    return Series.of(*starts.values())


@dataclass(slots=True)
class Request:
    """One request and everything that answered it."""

    asked: MeasurementRequested
    position: int
    event_id: str
    num_attempts: int = 0
    num_lost: int = 0
    """Attempts whose worker died while the rest of the campaign lived."""
    worker: str | None = None
    """Who is at it."""
    attempt_id: str | None = None
    """Latest attempt; only its results count."""
    pairs: list[PairMeasured] = field(default_factory=list)
    """Pairs of the latest attempt."""
    result: Result | None = None
    result_position: int = 0
    crash: Crashed | None = None
    flags: list[MeasurementFlagged] = field(default_factory=list)
    judgement: MeasurementJudged | None = None
    is_cancelled: bool = False

    def series(self) -> Series:
        """Return the log ratios of the latest attempt's valid pairs, by start."""
        return series_of(self.pairs)

    @property
    def is_open(self) -> bool:
        """True while evidence is still wanted."""
        return self.result is None and self.crash is None and not self.is_cancelled


@dataclass(slots=True)
class Requests:
    """All requests of a campaign, in order."""

    by_id: dict[str, Request] = field(default_factory=dict)

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        _HANDLERS.apply(self, recorded)

    def open(self) -> tuple[Request, ...]:
        """Return the requests that wait for evidence, oldest first."""
        return tuple(r for r in self.by_id.values() if r.is_open)

    def num_tests(self) -> tuple[int, int]:
        """Return how many benchmarks were judged, and how many of them were accepted."""
        judged = [
            r.judgement
            for r in self.by_id.values()
            if r.asked.purpose == "benchmark" and r.judgement is not None
        ]
        return len(judged), sum(judgement.is_accepted for judgement in judged)

    def of_node(self, node_id: str) -> tuple[Request, ...]:
        """Return the requests about a node, oldest first."""
        return tuple(r for r in self.by_id.values() if r.asked.node_id == node_id)


def _asked(requests: Requests, event: MeasurementRequested, recorded: Recorded) -> None:
    requests.by_id[event.request_id] = Request(event, recorded.position, recorded.event_id)


def _attempted(requests: Requests, event: AttemptStarted, recorded: Recorded) -> None:
    request = requests.by_id.get(event.request_id or "")
    if request is not None:
        request.num_attempts += 1
        request.attempt_id = event.attempt_id
        request.worker = recorded.actor
        request.pairs = []


def _born(requests: Requests, _event: IncarnationStarted, recorded: Recorded) -> None:
    for request in requests.open():
        if recorded.actor == DRIVER:
            # Everybody was ended with the driver before: no request is to blame for that.
            request.worker = None
        elif request.worker == recorded.actor:
            request.worker = None
            request.num_lost += 1


def _paired(requests: Requests, event: PairMeasured, _: Recorded) -> None:
    request = requests.by_id[event.request_id]
    if event.attempt_id == request.attempt_id:
        request.pairs.append(event)


def _answered(requests: Requests, event: Result, recorded: Recorded) -> None:
    request = requests.by_id[event.request_id]
    # The first result of the latest attempt wins; others stay in the log as stale.
    if request.result is None and event.attempt_id == request.attempt_id:
        request.result = event
        request.result_position = recorded.position


def _crashed(requests: Requests, event: Crashed, _: Recorded) -> None:
    request = requests.by_id.get(event.request_id or "")
    if request is not None and request.is_open:
        request.crash = event


def _flagged(requests: Requests, event: MeasurementFlagged, _: Recorded) -> None:
    requests.by_id[event.request_id].flags.append(event)


def _judged(requests: Requests, event: MeasurementJudged, _: Recorded) -> None:
    requests.by_id[event.request_id].judgement = event


def _cancelled(requests: Requests, event: ActionVetoed | ActionWithdrawn, _: Recorded) -> None:
    if event.action_id is None:
        return
    for request in requests.by_id.values():
        if request.asked.action_id == event.action_id and request.is_open:
            request.is_cancelled = True


_HANDLERS: Dispatcher[Requests] = Dispatcher(
    {
        MeasurementRequested: _asked,
        AttemptStarted: _attempted,
        IncarnationStarted: _born,
        PairMeasured: _paired,
        ProfileTaken: _answered,
        NoiseCalibrated: _answered,
        AccuracyMeasured: _answered,
        BenchmarkMeasured: _answered,
        SoakMeasured: _answered,
        Crashed: _crashed,
        MeasurementFlagged: _flagged,
        MeasurementJudged: _judged,
        ActionVetoed: _cancelled,
        ActionWithdrawn: _cancelled,
    }
)
