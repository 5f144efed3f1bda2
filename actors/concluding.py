"""What becomes of the node that is measured: kept, reverted, asked again; pure functions."""

from collections.abc import Sequence

from arbor.actors import requesting
from arbor.core.requests import Request
from arbor.core.scopes import because
from arbor.core.standing import offence_of
from arbor.core.state import CampaignState
from arbor.core.tree import Node
from arbor.events.base import Event
from arbor.events.choice import ActionWithdrawn
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.outcome import ActionKept, ActionReverted


def outcomes(state: CampaignState) -> Sequence[Event]:
    """Return the outcome of the node that is being measured; empty while it has none."""
    node = requesting.measuring(state)
    if node is None:
        return ()
    for purpose in ("accuracy", "benchmark"):
        request = state.measurement_of(node.node_id, purpose)
        if request is None:
            return ()
        if request.crash is not None and request.crash.action_id is None:
            return _again(state, node, request)
        if request.judgement is None:
            return ()
        if not request.judgement.is_accepted:
            return (_revert(node, request),)
        if purpose == "benchmark":
            return (_keep(state, node, request),)
    return ()


def _revert(node: Node, request: Request) -> ActionReverted:
    judgement = request.judgement
    result = request.result
    reason = judgement.reason if judgement is not None else "not judged"
    return ActionReverted(
        action_id=node.action_id,
        causation_id=request.event_id,
        node_id=node.node_id,
        reason=f"{request.asked.purpose}: {reason}",
        effect=result.effect if isinstance(result, BenchmarkMeasured) else None,
    )


def _keep(state: CampaignState, node: Node, request: Request) -> Event:
    result = request.result
    if not isinstance(result, BenchmarkMeasured) or node.parent_id is None:
        return _revert(node, request)
    if node.parent_id != state.tree.current_id:
        # The path changed while it was measured; evidence is not carried across a rebase.
        return ActionWithdrawn(action_id=node.action_id, reason="its base was revoked")
    found = offence_of(state, node)
    if found is not None:
        return ActionReverted(
            action_id=node.action_id,
            causation_id=request.event_id,
            node_id=node.node_id,
            reason=because(found.constraint),
            effect=result.effect,
        )
    return ActionKept(
        action_id=node.action_id,
        causation_id=request.event_id,
        node_id=node.node_id,
        parent_id=node.parent_id,
        commit=result.commit,
        edits=node.edits,
        effect=result.effect,
    )


def _again(state: CampaignState, node: Node, request: Request) -> Sequence[Event]:
    """Ask again when something other than the candidate failed, within limits."""
    records = (r for r in state.crashes if r.crash.request_id == request.asked.request_id)
    if any(record.root_cause is None for record in records):
        # the next attempt may have to clean something first
        return ()
    purpose = request.asked.purpose
    asked = [r for r in state.requests.of_node(node.node_id) if r.asked.purpose == purpose]
    if len(asked) < state.settings.search.max_attempts:
        return (requesting.request(state, purpose, node, cause=request.event_id),)
    message = request.crash.message if request.crash is not None else ""
    return (
        ActionReverted(
            action_id=node.action_id,
            node_id=node.node_id,
            reason=f"could not be measured ({purpose}): {message}",
        ),
    )
