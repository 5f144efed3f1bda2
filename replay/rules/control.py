"""What people and revocations decided was obeyed: approvals, pauses, rebuilt paths."""

from arbor.actors.commands import HUMAN
from arbor.core.approval import awaits_approval
from arbor.core.standing import vetoed_keeps
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.base import Event
from arbor.events.campaign import CampaignEnded
from arbor.events.choice import ActionDispatched, ActionProposed
from arbor.events.judgement import KeepRevoked
from arbor.events.limits import ActionApproved, ActionVetoed
from arbor.events.outcome import ActionKept
from arbor.events.requests import ActionRebased, MeasurementRequested
from arbor.events.types import ActionTemplate
from arbor.replay.rules.base import Evidence, Findings


class PeopleWereObeyed:
    """Approvals before dispatch, nothing new during a pause, human words from humans alone."""

    name = "people"
    title = "what needed an approval had it, nothing started in a pause, humans spoke for humans"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Hold every dispatch and request against what people had said by then."""
        for recorded, state in evidence.walk():
            event, at = recorded.event, recorded.position
            is_human = recorded.actor.split(":")[0] == HUMAN
            if isinstance(event, ActionDispatched):
                action = state.tree.actions.get(event.action_id or "")
                findings.require(
                    action is None or not awaits_approval(state, action),
                    at,
                    f"{event.action_id} was dispatched without the approval that it needs",
                )
            elif isinstance(event, ActionProposed):
                source = "human" if is_human else event.source
                findings.require(
                    source == event.source and (is_human or event.source != "human"),
                    at,
                    f"{event.action_id} by {recorded.actor!r} claims to come from {event.source}",
                )
            elif isinstance(event, ActionVetoed):
                findings.require(
                    is_human == event.by.startswith(HUMAN),
                    at,
                    f"the veto of {event.action_id} by {recorded.actor!r} names {event.by!r}",
                )
            elif isinstance(event, ActionApproved):
                findings.require(is_human, at, f"{recorded.actor!r} approved {event.action_id}")
            if isinstance(event, ActionDispatched | MeasurementRequested | ActionRebased):
                findings.require(
                    not state.is_paused, at, f"{event.kind} while the campaign was paused"
                )


class RevokedPathsAreLeft:
    """After a revocation nothing stands on the revoked commit, and nothing ends with a veto."""

    name = "revoked"
    title = "no revoked node is on the path in force, rebuilt paths are made of what survived"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Look at the path whenever something is built on it, and behind every rebuilt node."""
        for recorded, state in evidence.walk():
            problem = _problem(recorded.event, state)
            if isinstance(recorded.event, _CHECKED):
                findings.require(problem is None, recorded.position, problem or "")


_CHECKED = (
    ActionDispatched,
    ActionKept,
    ActionRebased,
    CampaignEnded,
    ActionProposed,
    KeepRevoked,
)


def _problem(event: Event, state: CampaignState) -> str | None:
    tree = state.tree
    match event:
        case ActionDispatched() | ActionKept() | ActionRebased():
            return _off_path(state, event.parent_id)
        case CampaignEnded():
            vetoed = [action.action_id for action, _ in vetoed_keeps(state)]
            if vetoed:
                return f"the campaign ended with {', '.join(vetoed)} kept against a veto"
            return _off_path(state, event.node_id)
        case ActionProposed() if event.source == "stack":
            return _stack_problem(event, state)
        case ActionProposed() if event.source == "bundle":
            return _bundle_problem(event, state)
        case ActionProposed() if event.source == "rebuild" or event.parts:
            return _rebuild_problem(event, state)
        case KeepRevoked():
            is_kept = event.node_id in tree.nodes and (
                tree.node(event.node_id).status is Status.KEPT
            )
            return None if is_kept else f"{event.node_id} was revoked and is not kept"
        case _:
            return None


def _off_path(state: CampaignState, node_id: str) -> str | None:
    if node_id not in state.tree.nodes:
        return f"there is no node {node_id}"
    revoked = [
        node.node_id
        for node in state.tree.path(node_id)
        if node.status in {Status.REVOKED, Status.VETOED}
    ]
    return f"{node_id} stands on {', '.join(revoked)}, which was revoked" if revoked else None


def _rebuild_problem(event: ActionProposed, state: CampaignState) -> str | None:
    name = f"the rebuilt path {event.action_id}"
    suspension = state.rebuilds.latest
    if suspension is None or suspension.action_id is not None:
        return f"{name} answers no revocation"
    if event.source != "rebuild" or not event.parts or event.template is None:
        return f"{name} does not say what it is made of"
    left = iter(suspension.parts)
    if not all(part in left for part in event.parts):
        return f"{name} is not made of what survived, in its order"
    return _parts_problem(name, event, event.template, state)


def _bundle_problem(event: ActionProposed, state: CampaignState) -> str | None:
    name = f"the bundle {event.action_id}"
    if len(event.parts) < 2 or event.template is None:
        return f"{name} does not say what it is made of"
    for part in event.parts:
        action = state.tree.actions.get(part.action_id)
        if action is None or action.outcome is not Status.REVERTED:
            return f"{name} holds {part.action_id}, which was not tried and reverted"
        if action.node_id != part.node_id or state.tree.node(part.node_id).edits != part.edits:
            return f"{name} holds other edits than {part.action_id} had"
    return _parts_problem(name, event, event.template, state)


def _stack_problem(event: ActionProposed, state: CampaignState) -> str | None:
    name = f"the stack {event.action_id}"
    if len(event.parts) < 2 or event.template is None:
        return f"{name} does not say what it is made of"
    for part in event.parts:
        action = state.tree.actions.get(part.action_id)
        if action is None or not action.is_candidate:
            return f"{name} holds {part.action_id}, which does not wait to be tried"
        if state.tree.templates[action.template_id].edits != part.edits:
            return f"{name} holds other edits than {part.action_id} would make"
    return _parts_problem(name, event, event.template, state)


def _parts_problem(
    name: str, event: ActionProposed, template: ActionTemplate, state: CampaignState
) -> str | None:
    banned = [part.action_id for part in event.parts if state.constraints.ban(part.action_id)]
    if banned:
        return f"{name} holds {', '.join(banned)}, which was vetoed"
    edits = {edit.key: edit.value for part in event.parts for edit in part.edits}
    if {edit.key: edit.value for edit in template.edits} != edits:
        return f"{name} has other edits than its parts"
    return None
