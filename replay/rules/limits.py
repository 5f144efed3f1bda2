"""Constraints, vetoes and leases were respected."""

from arbor.core.standing import offence
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.choice import ActionDispatched
from arbor.events.evidence import PairMeasured
from arbor.events.life import LeaseTaken
from arbor.events.outcome import ActionKept
from arbor.events.types import RebuiltPart
from arbor.replay.rules.base import Evidence, Findings


class LimitsAreRespected:
    """Nothing forbidden was dispatched or kept, nothing vetoed was kept."""

    name = "limits"
    title = "no dispatch and no keep against a constraint in force or a veto"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Hold every dispatch and keep against the limits of its moment."""
        for recorded, state in evidence.walk():
            event = recorded.event
            if isinstance(event, ActionDispatched | ActionKept):
                problem = _forbidden(state, event)
                findings.require(problem is None, recorded.position, problem or "")


def _forbidden(state: CampaignState, event: ActionDispatched | ActionKept) -> str | None:
    if event.parent_id not in state.tree.nodes:
        return f"{event.node_id} has a parent {event.parent_id} that does not exist"
    if state.tree.node(event.parent_id).status is not Status.KEPT:
        return f"{event.node_id} lies on {event.parent_id}, which is not kept"
    parts = _parts(state, event)
    for part in parts:
        if (ban := state.constraints.ban(part.action_id)) is not None:
            return f"{event.kind} of {event.action_id} after its veto: {ban.reason}"
    found = offence(state, parts, state.tree.config_at(event.parent_id), event.parent_id)
    if found is not None:
        name = found.constraint.constraint_id
        return f"{event.kind} of {event.action_id} against constraint {name}"
    return None


def _parts(state: CampaignState, event: ActionDispatched | ActionKept) -> tuple[RebuiltPart, ...]:
    """Return what an action is made of, a rebuilt path's own name and edits at its end."""
    action = state.tree.actions.get(event.action_id or "")
    itself = RebuiltPart(
        node_id=event.node_id,
        action_id=event.action_id or "",
        template_id=action.template_id if action is not None else "",
        edits=event.edits,
    )
    return (*(action.parts if action is not None else ()), itself)


class LeasesAreRespected:
    """A measurement has its host for itself."""

    name = "leases"
    title = "leases never overlapped an exclusive one, every pair was measured under one"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Follow the leases."""
        for recorded, state in evidence.walk():
            event = recorded.event
            if isinstance(event, LeaseTaken):
                findings.require(
                    state.leases.can_take(
                        event.lease_id,
                        event.host,
                        exclusive=event.is_exclusive,
                        devices=event.devices,
                    ),
                    recorded.position,
                    f"lease {event.lease_id} of {event.host} was taken while it was not free",
                )
            elif isinstance(event, PairMeasured):
                pair = f"pair {event.pair} of {event.request_id}"
                findings.require(
                    state.leases.holds_host_alone(recorded.actor),
                    recorded.position,
                    f"{pair} was measured without the host alone",
                )
                own = state.workers.devices.get(recorded.actor, ())
                findings.require(
                    state.leases.holds(recorded.actor, own),
                    recorded.position,
                    f"{pair} was measured without the devices {', '.join(own)} alone",
                )
