"""Which evidence is asked for next; pure functions of the campaign's state."""

from collections.abc import Sequence
from datetime import datetime

from arbor.actors import choosing
from arbor.actors.policies import policy_of
from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Node, Status
from arbor.events.base import Event
from arbor.events.choice import ActionWithdrawn
from arbor.events.outcome import Crashed
from arbor.events.requests import ActionRebased, MeasurementRequested, Purpose
from arbor.events.types import ActionTemplate, SeriesPlan


def request(
    state: CampaignState,
    purpose: Purpose,
    node: Node,
    cause: str | None = None,
    left_s: float | None = None,
) -> MeasurementRequested:
    """Return the request for evidence of a purpose about a node.

    Args:
        state: the campaign.
        purpose: what is wanted.
        node: what it is wanted about.
        cause: event that led to it.
        left_s: seconds that its windows may take; a final claim's are for its soak too.
    """
    number = len(state.requests.by_id) + 1
    template = state.tree.templates.get(node.template_id or "")
    incumbent = state.root_commit
    if purpose == "benchmark" and node.parent_id is not None:
        incumbent = state.tree.node(node.parent_id).commit or incumbent
    is_settled = node.status is Status.KEPT
    commit = (node.commit if is_settled else node.parent_commit) or state.root_commit
    return MeasurementRequested(
        action_id=None if is_settled else node.action_id,
        causation_id=cause,
        request_id=f"r{number:03d}",
        purpose=purpose,
        node_id=node.node_id,
        parent_commit=commit,
        edits=() if is_settled else node.edits,
        incumbent_commit=incumbent,
        witness=template.witness if template is not None else None,
        is_exact=template.is_exact if template is not None else True,
        plan=_plan(state, purpose, template, left_s),
        seed=state.settings.seed * 1_000_003 + number * 1009,
    )


def _plan(
    state: CampaignState,
    purpose: Purpose,
    template: ActionTemplate | None,
    left_s: float | None,
) -> SeriesPlan | None:
    if purpose == "revalidation":
        return state.claim_plan(left_s)
    if purpose == "benchmark" and template is not None:
        return choosing.benchmark_plan(state, template.template_id, left_s)
    return None


def measuring(state: CampaignState) -> Node | None:
    """Return the node that is being measured, if any."""
    return next((n for n in state.tree.in_flight() if n.status is Status.MEASURING), None)


def is_profile_due(state: CampaignState) -> bool:
    """Return whether the current node waits for its profile."""
    current = state.tree.current
    asked = state.measurement_of(current.node_id, "profile")
    return current.profile is None and (asked is None or asked.is_open)


def measurements(state: CampaignState, now: datetime) -> Sequence[Event]:
    """Return the next request about a patch: accuracy, then a benchmark, or a rebase before."""
    node = measuring(state)
    if node is not None:
        accuracy = state.measurement_of(node.node_id, "accuracy")
        benchmark = state.measurement_of(node.node_id, "benchmark")
        is_due = accuracy is not None and accuracy.judgement is not None and benchmark is None
        if not is_due:
            return ()
        left_s = state.budget.remaining_s(now) - state.final_claim_s()
        return (request(state, "benchmark", node, left_s=left_s),)
    ready = [n for n in state.tree.in_flight() if n.status is Status.READY]
    if state.noise is None or not ready or is_profile_due(state):
        return ()
    policy = policy_of(state)
    chosen = min(ready, key=lambda n: policy.order(state, state.tree.actions[n.action_id or ""]))
    if chosen.parent_id != state.tree.current_id:
        return (_rebase(state, chosen),)
    return (request(state, "accuracy", chosen),)


def _rebase(state: CampaignState, node: Node) -> Event:
    reason = choosing.obstacle(state, state.tree.actions[node.action_id or ""])
    if reason is not None:
        return ActionWithdrawn(action_id=node.action_id, reason=f"after a keep: {reason}")
    return ActionRebased(
        action_id=node.action_id,
        from_node_id=node.node_id,
        node_id=f"n{len(state.tree.nodes):03d}",
        parent_id=state.tree.current_id,
        parent_commit=state.tree.current.commit or state.root_commit,
    )


def calibration(state: CampaignState) -> Sequence[Event]:
    """Return the request for a missing profile or for the calibration of noise."""
    current = state.tree.current
    if current.profile is None and state.measurement_of(current.node_id, "profile") is None:
        return (request(state, "profile", current),)
    if state.noise is None:
        asked = [r for r in state.requests_of_session("noise") if r.asked.node_id == ROOT_ID]
        if all(not r.is_open for r in asked) and (len(asked) < state.settings.search.max_attempts):
            return (request(state, "noise", state.tree.node(ROOT_ID)),)
    return ()


def given_up(state: CampaignState) -> Sequence[Event]:
    """Return the crash of a request that ended the bench at every attempt, if there is one."""
    limit = state.settings.search.max_attempts
    return tuple(_crash(each, limit) for each in state.requests.open() if each.num_lost >= limit)[
        :1
    ]


def _crash(lost: Request, limit: int) -> Crashed:
    asked = lost.asked
    return Crashed(
        action_id=asked.action_id,
        attempt_id=lost.attempt_id,
        causation_id=lost.event_id,
        phase=asked.purpose,
        message=f"the bench died in each of {limit} attempts at {asked.purpose}",
        request_id=asked.request_id,
        node_id=asked.node_id,
    )
