"""Everything that a campaign was at one moment, as plain values: for people, JSON and diffs."""

from collections.abc import Iterator
from datetime import datetime

from arbor.core.approval import awaits_approval
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Action, Node, Status
from arbor.events.campaign import CampaignStarted
from arbor.events.settings import Settings
from arbor.events.types import CategoryShare, Edit, Effect, Scalar, Value
from arbor.replay.reading import Recording
from arbor.replay.spans import TimeSpent


class NodeThen(Value):
    """A node as it stood."""

    node_id: str
    parent_id: str | None
    template_id: str | None
    status: Status
    edits: tuple[Edit, ...]
    effect: Effect | None
    reason: str


class CandidateThen(Value):
    """An action that waited to be tried."""

    action_id: str
    template_id: str
    score: float | None
    """None while it was not scored."""
    awaits_approval: bool


class ConstraintThen(Value):
    """A constraint in force."""

    constraint_id: str
    template_id: str
    edits: tuple[Edit, ...]
    reason: str


class RequestThen(Value):
    """Evidence that was waited for."""

    request_id: str
    purpose: str
    node_id: str
    num_pairs: int


class CostsThen(Value):
    """What had been spent."""

    active_s: float
    budget_s: float
    num_trials: int
    usd_micro: int
    """Millionths of a US dollar."""
    gpu_s: float
    """Seconds of leases times accelerators of the host."""


class Snapshot(Value):
    """A campaign at one position; the JSON of ``arbor replay DIR --at POSITION --json``."""

    schema_version: int = 1
    campaign_id: str
    name: str
    position: int
    recorded_at: datetime
    """Time of the event at that position."""
    latest: str
    """Kind of the event at that position."""
    is_paused: bool
    is_ended: bool
    settings: Settings
    path: tuple[str, ...]
    """Nodes from the baseline to the stack in force."""
    kept_templates: tuple[str, ...]
    config: dict[str, Scalar]
    """Configuration of the stack in force."""
    gain_ratio: float
    """Product of the effects along the path: an estimate, not a claim."""
    profile: tuple[CategoryShare, ...]
    nodes: tuple[NodeThen, ...]
    candidates: tuple[CandidateThen, ...]
    """Best score first."""
    constraints: tuple[ConstraintThen, ...]
    requests: tuple[RequestThen, ...]
    costs: CostsThen


def snapshot(recording: Recording, position: int) -> Snapshot:
    """Return what a campaign was after the event at a position.

    Raises:
        CorruptLogError: a stored event cannot be read.
    """
    state, time = CampaignState(), TimeSpent()
    for recorded in recording.events(up_to=position):
        state.apply(recorded)
        time.apply(recorded)
        last = recorded
    tree = state.tree
    profile = tree.profile_at(tree.current_id) if tree.nodes else None
    return Snapshot(
        campaign_id=recording.reader.campaign_id,
        name=recording.started.name,
        position=last.position,
        recorded_at=last.recorded_at,
        latest=last.event.kind,
        is_paused=state.is_paused,
        is_ended=state.is_ended,
        settings=state.settings,
        path=tuple(n.node_id for n in tree.path(tree.current_id)) if tree.nodes else (),
        kept_templates=tree.kept_templates(tree.current_id) if tree.nodes else (),
        config=tree.config_at(tree.current_id) if tree.nodes else {},
        gain_ratio=tree.gain_ratio(tree.current_id) if tree.nodes else 1.0,
        profile=profile.shares if profile is not None else (),
        nodes=tuple(_node(node) for node in tree.nodes.values()),
        candidates=tuple(_candidates(state)),
        constraints=tuple(_constraints(state)),
        requests=tuple(_requests(state)),
        costs=_costs(state, time, recording.started, last.recorded_at),
    )


def _node(node: Node) -> NodeThen:
    return NodeThen(
        node_id=node.node_id,
        parent_id=node.parent_id,
        template_id=node.template_id,
        status=node.status,
        edits=node.edits if node.node_id != ROOT_ID else (),
        effect=node.effect,
        reason=node.reason,
    )


def _candidates(state: CampaignState) -> Iterator[CandidateThen]:
    def order(action: Action) -> tuple[bool, float, int]:
        return action.score is None, -(action.score or 0.0), action.position

    for action in sorted(state.tree.candidates(), key=order):
        yield CandidateThen(
            action_id=action.action_id,
            template_id=action.template_id,
            score=action.score,
            awaits_approval=awaits_approval(state, action),
        )


def _constraints(state: CampaignState) -> Iterator[ConstraintThen]:
    for constraint in state.constraints.in_force.values():
        yield ConstraintThen(
            constraint_id=constraint.constraint_id,
            template_id=constraint.scope.template_id,
            edits=constraint.scope.edits,
            reason=constraint.reason,
        )


def _requests(state: CampaignState) -> Iterator[RequestThen]:
    for request in state.requests.open():
        yield RequestThen(
            request_id=request.asked.request_id,
            purpose=request.asked.purpose,
            node_id=request.asked.node_id,
            num_pairs=len(request.pairs),
        )


def _costs(
    state: CampaignState, time: TimeSpent, started: CampaignStarted, now: datetime
) -> CostsThen:
    return CostsThen(
        active_s=state.budget.elapsed_s(now),
        budget_s=state.budget.wall_s,
        num_trials=state.budget.num_trials,
        usd_micro=state.budget.usd_micro_spent,
        gpu_s=time.leased_s * started.hardware.num_devices,
    )
