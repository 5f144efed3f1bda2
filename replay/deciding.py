"""Decisions in words and as keys that two branches of a campaign share."""

from collections.abc import Callable
from typing import Any

from arbor.core.state import CampaignState
from arbor.events.base import Event, canonical_json
from arbor.events.campaign import CampaignEnded
from arbor.events.choice import (
    ActionDispatched,
    ActionProposed,
    ActionScored,
    ActionWithdrawn,
    FrontierMoved,
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


_KEYS: dict[type[Event], Callable[[CampaignState, Any], tuple[str, ...]]] = {
    ActionDispatched: lambda _, e: key_of(e),
    MeasurementRequested: lambda _, e: key_of(e),
    ActionProposed: lambda s, e: (e.template_id, _commit(s, e.node_id)),
    ActionScored: lambda s, e: (_template(s, e), _commit(s, e.node_id), f"{e.score:.6g}"),
    ActionKept: lambda _, e: (e.commit,),
    FrontierMoved: lambda s, e: (_commit(s, e.node_id),),
    ActionReverted: lambda s, e: (_template(s, e), _commit(s, e.node_id)),
    ActionRebased: lambda s, e: (_template(s, e), e.parent_commit),
    MeasurementJudged: lambda s, e: (
        *key_of(s.requests.by_id[e.request_id].asked),
        str(e.is_accepted),
    ),
    ConstraintPublished: lambda _, e: (canonical_json(e.scope.model_dump(mode="json")),),
    CampaignEnded: lambda s, e: (_commit(s, e.node_id),),
    RootCauseFound: lambda s, e: (_template(s, e), e.cause),
    IntrospectionRecorded: lambda s, e: (_template(s, e),),
    ActionWithdrawn: lambda s, e: (_template(s, e),),
    ActionVetoed: lambda s, e: (_template(s, e),),
    KeepRevoked: lambda s, e: (_template(s, e),),
}
"""What a decision of a kind is about; the others are told apart by their action."""


def decision_key(state: CampaignState, event: Event) -> Key:
    """Return what a decision is about, without ids that count differently in another branch.

    Args:
        state: the campaign before the decision.
        event: the decision.
    """
    about = _KEYS.get(type(event))
    return event.kind, *(about(state, event) if about is not None else (event.action_id or "",))


def _asked(state: CampaignState, event: MeasurementRequested) -> str:
    name = "" if event.action_id is None else f" {_template(state, event)}"
    return f"ask for {event.purpose} of {event.node_id}{name}"


def _judged(_: CampaignState, event: MeasurementJudged) -> str:
    verdict = "accept" if event.is_accepted else "refuse"
    return f"{verdict} the {event.purpose} {event.request_id}: {event.reason}"


def _rebased(state: CampaignState, event: ActionRebased) -> str:
    return f"rebase {_template(state, event)} from {event.from_node_id} onto {event.parent_id}"


_WORDS: dict[type[Event], Callable[[CampaignState, Any], str]] = {
    ActionDispatched: lambda _, e: f"dispatch {e.template_id} on {e.parent_id} as {e.node_id}",
    MeasurementRequested: _asked,
    FrontierMoved: lambda _, e: f"go on from {e.node_id}: {e.reason}",
    ActionKept: lambda s, e: f"keep {e.node_id} {_template(s, e)}: {e.effect.ratio:.3f}x",
    ActionReverted: lambda s, e: f"revert {e.node_id} {_template(s, e)}: {e.reason}",
    ActionRebased: _rebased,
    ActionWithdrawn: lambda s, e: f"withdraw {_template(s, e)}: {e.reason}",
    MeasurementJudged: _judged,
    RootCauseFound: lambda s, e: f"blame {e.cause} for the crash of {_template(s, e)}",
    ConstraintPublished: lambda _, e: f"forbid {e.scope.template_id}: {e.reason}",
    ActionVetoed: lambda s, e: f"veto {_template(s, e)}: {e.reason}",
    KeepRevoked: lambda _, e: f"revoke {e.node_id}: {e.reason}",
    CampaignEnded: lambda _, e: f"end with {e.node_id}: {e.reason}",
}
"""Decisions in words; the others only prepare these."""


def decision_words(state: CampaignState, event: Event) -> str | None:
    """Return a decision in a few words; None for one that only prepares others."""
    words = _WORDS.get(type(event))
    return words(state, event) if words is not None else None
