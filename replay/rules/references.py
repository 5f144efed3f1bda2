"""What an event names existed when it was appended, and belongs together."""

from arbor.core.names import specialist_name
from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.events.base import Event, Recorded
from arbor.events.choice import ActionDispatched, ActionProposed
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    EvidenceEvent,
    NoiseCalibrated,
    PairMeasured,
    ProfileTaken,
    SoakMeasured,
)
from arbor.events.judgement import MeasurementJudged
from arbor.events.life import LeaseReleased, LeaseRequested, LeaseTaken
from arbor.events.limits import ConstraintLifted, ConstraintPublished
from arbor.events.requests import ActionRebased, MeasurementRequested
from arbor.events.work import (
    AttemptStarted,
    PatchDrafted,
    PatchProposed,
    PatchRefused,
    PlanProposed,
    SpecialistConstructed,
    TrialMeasured,
)
from arbor.replay.rules.base import Evidence, Findings

ANSWERS: dict[type[EvidenceEvent], frozenset[str]] = {
    ProfileTaken: frozenset({"profile"}),
    NoiseCalibrated: frozenset({"noise"}),
    AccuracyMeasured: frozenset({"accuracy"}),
    BenchmarkMeasured: frozenset({"benchmark", "revalidation"}),
    PairMeasured: frozenset({"noise", "benchmark", "revalidation"}),
    SoakMeasured: frozenset({"soak"}),
}
"""Purposes that a kind of evidence answers."""
_MAKES_NODE = (ActionDispatched, ActionRebased)
_WORK = (
    AttemptStarted,
    PatchDrafted,
    PatchProposed,
    PatchRefused,
    PlanProposed,
    TrialMeasured,
)


class ReferencesHold:
    """Nodes, actions, requests, attempts, leases and constraints exist before they are named."""

    name = "references"
    title = "what events name was there before, answers fit what was asked, by whom it was begun"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Look up everything that is named."""
        known = _Known()
        for recorded, state in evidence.walk():
            problem = known.problem(recorded, state)
            findings.require(problem is None, recorded.position, problem or "")
            known.note(recorded)


class _Known:
    """What the state forgets: who began what."""

    def __init__(self) -> None:
        self._attempts: dict[tuple[str | None, str | None], str] = {}
        self._leases: dict[str, str] = {}
        self._constraints: set[str] = set()
        self._specialists: dict[str, set[str]] = {}

    def note(self, recorded: Recorded) -> None:
        """Remember who began something."""
        match recorded.event:
            case AttemptStarted() as event:
                self._attempts[event.request_id, event.attempt_id] = recorded.actor
            case LeaseTaken() | LeaseRequested() as event:
                self._leases[event.lease_id] = recorded.actor
            case ConstraintPublished() as event:
                self._constraints.add(event.constraint_id)
            case ActionDispatched() as event:
                own = self._specialists.setdefault(event.action_id or "", set())
                own.add(specialist_name(event.node_id))
            case _:
                pass

    def problem(self, recorded: Recorded, state: CampaignState) -> str | None:
        """Return what an event names wrongly, or None."""
        event = recorded.event
        return (
            _unknown(event, state)
            or self._unasked(recorded, state)
            or self._foreign_work(recorded, state)
            or self._unbegun(recorded)
        )

    def _unasked(self, recorded: Recorded, state: CampaignState) -> str | None:
        event = recorded.event
        request_id = getattr(event, "request_id", None)
        if request_id is None or isinstance(event, MeasurementRequested):
            return None
        request = state.requests.by_id.get(request_id)
        if request is None:
            return f"{event.kind} names request {request_id}, which nobody asked"
        if isinstance(event, EvidenceEvent):
            begun_by = self._attempts.get((request_id, event.attempt_id))
            if begun_by != recorded.actor:
                return (
                    f"{event.kind} of attempt {event.attempt_id} at {request_id} came from"
                    f" {recorded.actor}, it was begun by {begun_by}"
                )
            return _misfit(event, request)
        if isinstance(event, MeasurementJudged):
            return _unjudgeable(event, request)
        return None

    def _foreign_work(self, recorded: Recorded, state: CampaignState) -> str | None:
        """Return how work on an action came from somebody who was not built for it, or None."""
        event = recorded.event
        if isinstance(event, SpecialistConstructed):
            is_own = event.specialist_id == recorded.actor
            return None if is_own else f"{recorded.actor} was built as {event.specialist_id}"
        if not isinstance(event, _WORK) or getattr(event, "request_id", None) is not None:
            return None
        if recorded.actor not in self._specialists.get(event.action_id or "", ()):
            return f"{event.kind} of {event.action_id} came from {recorded.actor}"
        if isinstance(event, PatchProposed):
            base = state.tree.node(event.node_id).parent_commit
            if recorded.actor != specialist_name(event.node_id) or event.base_commit != base:
                return f"the patch of {event.node_id} is not its specialist's on {base}"
        return None

    def _unbegun(self, recorded: Recorded) -> str | None:
        match recorded.event:
            case LeaseReleased() as event:
                holder = self._leases.get(event.lease_id)
                # The driver gives up what the bench of a lost node held.
                is_lost = (recorded.actor, holder) == ("supervisor", "bench")
                if holder == recorded.actor or is_lost:
                    return None
                return f"{recorded.actor} released lease {event.lease_id} of {holder}"
            case ConstraintLifted() as event if event.constraint_id not in self._constraints:
                return f"constraint {event.constraint_id} was lifted and never published"
            case _:
                return None


def _unknown(event: Event, state: CampaignState) -> str | None:
    """Return the first node, action or template that an event names and nobody made, or None."""
    tree = state.tree
    if isinstance(event, ActionProposed):
        if event.template is None and event.template_id not in tree.templates:
            return f"{event.action_id} is proposed from template {event.template_id}, unknown"
    elif event.action_id is not None and event.action_id not in tree.actions:
        return f"{event.kind} names action {event.action_id}, which nobody proposed"
    if isinstance(event, ActionDispatched):
        proposed = tree.actions[event.action_id or ""].template_id
        if event.template_id != proposed:
            return f"{event.action_id} was proposed as {proposed}, dispatched {event.template_id}"
    fields = ("parent_id", "from_node_id", "node_id")
    for field in fields[:2] if isinstance(event, _MAKES_NODE) else fields:
        node_id = getattr(event, field, None)
        if node_id is not None and node_id not in tree.nodes:
            return f"{event.kind} names node {node_id}, which nobody made"
    return None


def _misfit(event: EvidenceEvent, request: Request) -> str | None:
    """Return how evidence differs from what was asked for, or None."""
    asked = request.asked
    name = f"{event.kind} for {asked.request_id}"
    if asked.purpose not in ANSWERS[type(event)]:
        return f"{name} answers a request for {asked.purpose}"
    if (event.node_id, event.action_id) != (asked.node_id, asked.action_id):
        return f"{name} is about {event.node_id}, asked was {asked.node_id}"
    if isinstance(event, BenchmarkMeasured):
        if event.purpose != asked.purpose:
            return f"{name} is a {event.purpose}, asked was a {asked.purpose}"
        if event.incumbent_commit != asked.incumbent_commit:
            return f"{name} has incumbent {event.incumbent_commit}, asked was another"
    return None


def _unjudgeable(event: MeasurementJudged, request: Request) -> str | None:
    if request.result is None:
        return f"{event.request_id} was judged before it had a result"
    if event.purpose != request.asked.purpose:
        return f"{event.request_id} was judged as {event.purpose}, not {request.asked.purpose}"
    return None
