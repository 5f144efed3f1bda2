"""Decisions in words and as keys that two branches of a campaign share."""

from arbor.core.state import CampaignState
from arbor.events.base import Event, canonical_json
from arbor.events.campaign import CampaignEnded
from arbor.events.choice import (
    ActionDispatched,
    ActionProposed,
    ActionScored,
    ActionWithdrawn,
)
from arbor.events.judgement import (
    IntrospectionRecorded,
    KeepRevoked,
    MeasurementJudged,
    RootCauseFound,
)
from arbor.events.limits import ActionVetoed, ConstraintPublished
from arbor.events.outcome import ActionKept, ActionReverted
from arbor.events.requests import ActionRebased, MeasurementRequested
from arbor.replay.answers import key_of

Key = tuple[str, ...]


def _template(state: CampaignState, event: Event) -> str:
    action = state.tree.actions.get(event.action_id or "")
    return action.template_id if action is not None else event.action_id or ""


def _commit(state: CampaignState, node_id: str) -> str:
    node = state.tree.nodes.get(node_id)
    return (node.commit or node.parent_commit or "") if node is not None else ""


def decision_key(state: CampaignState, event: Event) -> Key:
    """Return what a decision is about, without ids that count differently in another branch.

    Args:
        state: the campaign before the decision.
        event: the decision.
    """
    match event:
        case ActionDispatched() | MeasurementRequested():
            return event.kind, *key_of(event)
        case ActionProposed():
            return event.kind, event.template_id, _commit(state, event.node_id)
        case ActionScored():
            score = f"{event.score:.6g}"
            return event.kind, _template(state, event), _commit(state, event.node_id), score
        case ActionKept():
            return event.kind, event.commit
        case ActionReverted():
            return event.kind, _template(state, event), _commit(state, event.node_id)
        case ActionRebased():
            return event.kind, _template(state, event), event.parent_commit
        case MeasurementJudged():
            asked = state.requests.by_id[event.request_id].asked
            return event.kind, *key_of(asked), str(event.is_accepted)
        case ConstraintPublished():
            return event.kind, canonical_json(event.scope.model_dump(mode="json"))
        case CampaignEnded():
            return event.kind, _commit(state, event.node_id)
        case RootCauseFound():
            return event.kind, _template(state, event), event.cause
        case IntrospectionRecorded() | ActionWithdrawn() | ActionVetoed() | KeepRevoked():
            return event.kind, _template(state, event)
        case _:
            return event.kind, event.action_id or ""


def decision_words(state: CampaignState, event: Event) -> str | None:
    """Return a decision in a few words; None for one that only prepares others."""
    name = _template(state, event)
    match event:
        case ActionDispatched():
            return f"dispatch {name} on {event.parent_id} as {event.node_id}"
        case MeasurementRequested() if event.action_id is None:
            return f"ask for {event.purpose} of {event.node_id}"
        case MeasurementRequested():
            return f"ask for {event.purpose} of {event.node_id} {name}"
        case ActionKept():
            return f"keep {event.node_id} {name}: {event.effect.ratio:.3f}x"
        case ActionReverted():
            return f"revert {event.node_id} {name}: {event.reason}"
        case ActionRebased():
            return f"rebase {name} from {event.from_node_id} onto {event.parent_id}"
        case ActionWithdrawn():
            return f"withdraw {name}: {event.reason}"
        case MeasurementJudged():
            verdict = "accept" if event.is_accepted else "refuse"
            return f"{verdict} the {event.purpose} {event.request_id}: {event.reason}"
        case RootCauseFound():
            return f"blame {event.cause} for the crash of {name}"
        case ConstraintPublished():
            return f"forbid {event.scope.template_id}: {event.reason}"
        case ActionVetoed():
            return f"veto {name}: {event.reason}"
        case KeepRevoked():
            return f"revoke {event.node_id}: {event.reason}"
        case CampaignEnded():
            return f"end with {event.node_id}: {event.reason}"
        case _:
            return None
