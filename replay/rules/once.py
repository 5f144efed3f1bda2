"""No effect counts twice: what must be unique is."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from arbor.core.state import CampaignState
from arbor.events.base import Event, Recorded
from arbor.events.choice import ActionDispatched, ActionProposed, ActionWithdrawn
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
    ProfileTaken,
    SoakMeasured,
)
from arbor.events.judgement import MeasurementJudged
from arbor.events.life import LeaseTaken
from arbor.events.limits import ConstraintPublished
from arbor.events.money import BudgetReserved, BudgetSpent
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.requests import ActionRebased, MeasurementRequested
from arbor.events.work import PatchDrafted, PatchProposed, PatchRefused, TrialMeasured
from arbor.replay.rules.base import Evidence, Findings, fold

_Key = tuple[str, str]


def _result(event: Any) -> list[_Key]:
    return [("result of attempt", f"{event.attempt_id} at {event.request_id}")]


UNIQUE: dict[type[Event], Callable[[Any], list[_Key]]] = {
    ActionDispatched: lambda e: [("node", e.node_id)],
    ActionKept: lambda e: [("keep of node", e.node_id)],
    ActionProposed: lambda e: [("proposal", e.action_id)],
    ActionRebased: lambda e: [("node", e.node_id), ("rebase of", e.from_node_id)],
    BudgetReserved: lambda e: [("reservation", e.reservation_id)],
    BudgetSpent: lambda e: [("reconciliation of", e.reservation_id)],
    ConstraintPublished: lambda e: [("constraint", e.constraint_id)],
    LeaseTaken: lambda e: [("lease", e.lease_id)],
    MeasurementJudged: lambda e: [("judgement of request", e.request_id)],
    MeasurementRequested: lambda e: [("request", e.request_id)],
    PairMeasured: lambda e: [("pair of attempt", f"{e.attempt_id} number {e.pair}")],
    PatchDrafted: lambda e: [("draft of attempt", f"{e.attempt_id} number {e.draft}")],
    PatchProposed: lambda e: [("patch for node", e.node_id)],
    TrialMeasured: lambda e: [("trial of attempt", f"{e.attempt_id} number {e.trial}")],
    AccuracyMeasured: _result,
    BenchmarkMeasured: _result,
    NoiseCalibrated: _result,
    ProfileTaken: _result,
    SoakMeasured: _result,
}
"""What an event uses up: names that may appear once in a log."""

OUTCOMES = (ActionKept, ActionReverted, ActionWithdrawn, Crashed, PatchRefused)
"""A dispatched action gets one of these, until it is dispatched again."""


class NothingHappensTwice:
    """One outcome a dispatch, one judgement a request, one result an attempt, one of each id."""

    name = "once"
    title = "one outcome per dispatch, one judgement per request, one result per attempt"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Count what must be unique."""
        seen: set[_Key] = set()
        dispatches: Counter[str] = Counter()
        state = CampaignState()
        for recorded in evidence.events:
            event = recorded.event
            fold(state, recorded)
            keys = UNIQUE[type(event)](event) if type(event) in UNIQUE else []
            if isinstance(event, ActionDispatched) and event.action_id:
                dispatches[event.action_id] += 1
            elif isinstance(event, OUTCOMES) and event.action_id and _counts(state, recorded):
                dispatch = f"action {event.action_id}, dispatch {dispatches[event.action_id]}"
                keys = [*keys, ("outcome of", dispatch)]
            for key in keys:
                findings.require(key not in seen, recorded.position, f"second {' '.join(key)}")
                seen.add(key)


def _counts(state: CampaignState, recorded: Recorded) -> bool:
    """Return whether an outcome ended its action; one of a worker that came too late did not."""
    if not isinstance(recorded.event, Crashed | PatchRefused):
        return True
    return state.outcome_event_ids.get(recorded.event.action_id or "") == recorded.event_id
