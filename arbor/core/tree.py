"""The search tree as a fold: nodes, candidates and their outcomes."""

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum

from arbor.core.applying import Dispatcher
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.choice import (
    ActionDispatched,
    ActionProposed,
    ActionScored,
    ActionWithdrawn,
    FrontierMoved,
    Source,
)
from arbor.events.evidence import AccuracyMeasured, BenchmarkMeasured, ProfileTaken
from arbor.events.judgement import IntrospectionRecorded, KeepRevoked, RootCauseFound
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.requests import ActionRebased, MeasurementRequested
from arbor.events.types import (
    AccuracySample,
    ActionTemplate,
    Edit,
    Effect,
    Profile,
    RebuiltPart,
    ReviveCondition,
    Scalar,
)
from arbor.events.work import PatchProposed

ROOT_ID = "n000"
"""Node of the frozen baseline."""


class Status(StrEnum):
    """Where a node stands."""

    WORKING = "working"
    READY = "ready"
    MEASURING = "measuring"
    KEPT = "kept"
    REVERTED = "reverted"
    CRASHED = "crashed"
    WITHDRAWN = "withdrawn"
    VETOED = "vetoed"
    REBASED = "rebased"
    REVOKED = "revoked"


OPEN_STATUSES = frozenset({Status.WORKING, Status.READY, Status.MEASURING})
"""A node in one of these is in flight."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node: an action on a parent, with its outcome."""

    node_id: str
    parent_id: str | None
    action_id: str | None
    template_id: str | None
    status: Status
    edits: tuple[Edit, ...] = ()
    commit: str | None = None
    parent_commit: str | None = None
    profile: Profile | None = None
    effect: Effect | None = None
    accuracy: AccuracySample | None = None
    throughput_tok_s: float | None = None
    has_witness: bool = True
    reason: str = ""


@dataclass(slots=True)
class Action:
    """One proposal and what became of it."""

    action_id: str
    template_id: str
    proposed_at_node: str
    position: int
    revives: str | None
    reason: str
    source: Source = "orchestrator"
    parts: tuple[RebuiltPart, ...] = ()
    """What a rebuilt path is made of; empty for every other action."""
    score: float | None = None
    scored_after: int = 0
    node_id: str | None = None
    """Latest node of the action; None until it is dispatched."""
    num_dispatches: int = 0
    outcome: Status | None = None
    root_cause: RootCauseFound | None = None
    revive: ReviveCondition | None = None

    @property
    def is_candidate(self) -> bool:
        """True while the action waits to be dispatched."""
        return self.node_id is None and self.outcome is None


@dataclass(slots=True)
class Tree:
    """All nodes and actions of a campaign; feed it every event in order."""

    templates: dict[str, ActionTemplate] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    root_config: dict[str, Scalar] = field(default_factory=dict)
    current_id: str = ROOT_ID
    """Deepest kept node of the path in force."""
    num_rebases: int = 0
    num_nodes_at_move: int = 0
    """Nodes that there were when the frontier was last moved; 0: it never was."""

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        _HANDLERS.apply(self, recorded)

    def node(self, node_id: str) -> Node:
        """Return a node.

        Raises:
            LookupError: no such node.
        """
        return self.nodes[node_id]

    @property
    def current(self) -> Node:
        """The node that new work starts from."""
        return self.nodes[self.current_id]

    def path(self, node_id: str) -> tuple[Node, ...]:
        """Return the nodes from the root to ``node_id``."""
        reverse = [self.nodes[node_id]]
        while (parent := reverse[-1].parent_id) is not None:
            reverse.append(self.nodes[parent])
        return tuple(reversed(reverse))

    def is_on_path(self, node_id: str, end_id: str) -> bool:
        """Return whether a node lies on the path from the root to ``end_id``."""
        return any(node.node_id == node_id for node in self.path(end_id))

    def config_at(self, node_id: str) -> dict[str, Scalar]:
        """Return the flat configuration of a node: the baseline's with all edits of its path."""
        config = dict(self.root_config)
        for node in self.path(node_id):
            config.update((edit.key, edit.value) for edit in node.edits)
        return config

    def kept_templates(self, node_id: str) -> tuple[str, ...]:
        """Return the templates kept on the path to a node, from the root."""
        found: list[str] = []
        for node in self.path(node_id):
            action = self.actions.get(node.action_id or "")
            if action is not None and action.parts:
                found += (part.template_id for part in action.parts)
            elif node.template_id is not None:
                found.append(node.template_id)
        return tuple(found)

    def claims_exact(self, node_id: str) -> bool:
        """Return whether every action on the path to a node claims not to change numerics.

        An edit that no template of the catalog speaks for claims nothing.
        """
        templates = (self.templates.get(n.template_id or "") for n in self.path(node_id)[1:])
        return all(template is not None and template.is_exact for template in templates)

    def exact_prefix(self, node_id: str) -> Node:
        """Return the best node on the path to a node up to which all actions claim exactness."""
        exact = [n for n in self.path(node_id) if self.claims_exact(n.node_id)]
        return max(exact, key=lambda node: self.gain_ratio(node.node_id))

    def in_flight(self) -> tuple[Node, ...]:
        """Return the nodes at work, ready or being measured, oldest first."""
        return tuple(n for n in self.nodes.values() if n.status in OPEN_STATUSES)

    def candidates(self) -> tuple[Action, ...]:
        """Return the proposals that wait for dispatch."""
        return tuple(a for a in self.actions.values() if a.is_candidate)

    def history(self, template_id: str) -> tuple[Action, ...]:
        """Return all actions of a template, oldest first."""
        return tuple(a for a in self.actions.values() if a.template_id == template_id)

    def is_inconclusive(self, action: Action, min_gain_ratio: float) -> bool:
        """Return whether an action was reverted although its effect may well be a gain."""
        if action.outcome is not Status.REVERTED or action.node_id is None:
            return False
        node = self.nodes[action.node_id]
        if node.effect is None or not node.has_witness:
            return False
        return node.effect.ratio >= min_gain_ratio

    def profile_at(self, node_id: str) -> Profile | None:
        """Return the node's profile, or the nearest ancestor's."""
        for node in reversed(self.path(node_id)):
            if node.profile is not None:
                return node.profile
        return None

    def gain_ratio(self, node_id: str) -> float:
        """Return the product of the measured effects along a path (an estimate, not a claim)."""
        gain = 1.0
        for node in self.path(node_id):
            if node.effect is not None and node.status is Status.KEPT:
                gain *= node.effect.ratio
        return gain

    def _set(self, node_id: str, **changes: object) -> None:
        self.nodes[node_id] = replace(self.nodes[node_id], **changes)  # type: ignore[arg-type]

    def _finish(self, action_id: str | None, status: Status, reason: str) -> None:
        action = self.actions.get(action_id or "")
        if action is None:
            return
        action.outcome = status
        if action.node_id is not None:
            self._set(action.node_id, status=status, reason=reason)


def _started(tree: Tree, event: CampaignStarted, _: Recorded) -> None:
    tree.templates = {t.template_id: t for t in event.actions}
    tree.root_config = json.loads(event.root_config)
    tree.nodes[ROOT_ID] = Node(ROOT_ID, None, None, None, Status.KEPT, commit=event.root_commit)


def _proposed(tree: Tree, event: ActionProposed, recorded: Recorded) -> None:
    action_id = event.action_id or ""
    if event.template is not None:
        tree.templates.setdefault(event.template.template_id, event.template)
    tree.actions[action_id] = Action(
        action_id=action_id,
        template_id=event.template_id,
        proposed_at_node=event.node_id,
        position=recorded.position,
        revives=event.revives,
        reason=event.reason,
        source=event.source,
        parts=event.parts,
    )


def _scored(tree: Tree, event: ActionScored, recorded: Recorded) -> None:
    action = tree.actions.get(event.action_id or "")
    if action is not None:
        action.score = event.score
        action.scored_after = recorded.decided_after or recorded.position


def _dispatched(tree: Tree, event: ActionDispatched, _: Recorded) -> None:
    tree.nodes[event.node_id] = Node(
        node_id=event.node_id,
        parent_id=event.parent_id,
        action_id=event.action_id,
        template_id=event.template_id,
        status=Status.WORKING,
        edits=event.edits,
        parent_commit=event.parent_commit,
    )
    action = tree.actions[event.action_id or ""]
    action.node_id = event.node_id
    action.num_dispatches += 1
    action.outcome = None
    action.root_cause = None


def _patch(tree: Tree, event: PatchProposed, _: Recorded) -> None:
    if tree.nodes[event.node_id].status is Status.WORKING:
        tree._set(event.node_id, status=Status.READY, edits=event.edits, commit=event.commit)


def _rebased(tree: Tree, event: ActionRebased, _: Recorded) -> None:
    old = tree.nodes[event.from_node_id]
    tree._set(event.from_node_id, status=Status.REBASED)
    tree.nodes[event.node_id] = replace(
        old,
        node_id=event.node_id,
        parent_id=event.parent_id,
        parent_commit=event.parent_commit,
        commit=None,
        status=Status.READY,
    )
    tree.num_rebases += 1
    tree.actions[event.action_id or ""].node_id = event.node_id


def _requested(tree: Tree, event: MeasurementRequested, _: Recorded) -> None:
    if event.action_id and tree.nodes[event.node_id].status is Status.READY:
        tree._set(event.node_id, status=Status.MEASURING)


def _profiled(tree: Tree, event: ProfileTaken, _: Recorded) -> None:
    tree._set(event.node_id, profile=event.profile)


def _accuracy(tree: Tree, event: AccuracyMeasured, _: Recorded) -> None:
    tree._set(event.node_id, accuracy=event.sample, commit=event.commit)


def _benchmarked(tree: Tree, event: BenchmarkMeasured, _: Recorded) -> None:
    if event.purpose == "benchmark":
        tree._set(
            event.node_id,
            effect=event.effect,
            commit=event.commit,
            throughput_tok_s=event.mean_throughput_tok_s,
            has_witness=event.has_witness,
        )


def _kept(tree: Tree, event: ActionKept, _: Recorded) -> None:
    tree._set(event.node_id, commit=event.commit, effect=event.effect, edits=event.edits)
    tree._finish(event.action_id, Status.KEPT, "")
    tree.current_id = event.node_id


def _moved(tree: Tree, event: FrontierMoved, _: Recorded) -> None:
    tree.num_nodes_at_move = len(tree.nodes)
    # The log refuses a move to what was revoked since; a fold must not fail at it either.
    if tree.nodes[event.node_id].status is Status.KEPT:
        tree.current_id = event.node_id


def _reverted(tree: Tree, event: ActionReverted, _: Recorded) -> None:
    tree._finish(event.action_id, Status.REVERTED, event.reason)


def _crashed(tree: Tree, event: Crashed, _: Recorded) -> None:
    """Note a crash where it happened; one that comes too late changes no outcome."""
    action = tree.actions.get(event.action_id or "")
    if action is None or action.node_id is None:
        return
    expected = Status.WORKING if event.request_id is None else Status.MEASURING
    if tree.nodes[action.node_id].status is expected and event.node_id in {None, action.node_id}:
        action.root_cause = None
        tree._finish(event.action_id, Status.CRASHED, event.message)


def _withdrawn(tree: Tree, event: ActionWithdrawn, _: Recorded) -> None:
    tree._finish(event.action_id, Status.WITHDRAWN, event.reason)


def _vetoed(tree: Tree, event: ActionVetoed, _: Recorded) -> None:
    action = tree.actions.get(event.action_id or "")
    if action is not None and action.outcome is not Status.KEPT:
        tree._finish(event.action_id, Status.VETOED, event.reason)


def _root_cause(tree: Tree, event: RootCauseFound, _: Recorded) -> None:
    action = tree.actions.get(event.action_id or "")
    if action is not None:
        action.root_cause = event


def _introspected(tree: Tree, event: IntrospectionRecorded, _: Recorded) -> None:
    action = tree.actions.get(event.action_id or "")
    if action is not None:
        action.revive = event.revive


def _revoked(tree: Tree, event: KeepRevoked, _: Recorded) -> None:
    """Suspend the node and what was kept on it; the path in force falls back to its parent."""
    parent_id = tree.nodes[event.node_id].parent_id
    is_in_force = tree.is_on_path(event.node_id, tree.current_id)
    for node in tuple(tree.nodes.values()):
        if node.status is Status.KEPT and tree.is_on_path(event.node_id, node.node_id):
            tree._set(node.node_id, status=Status.REVOKED, reason=event.reason)
            if node.action_id in tree.actions:
                tree.actions[node.action_id or ""].outcome = Status.REVOKED
    if is_in_force and parent_id is not None:
        tree.current_id = parent_id


_HANDLERS: Dispatcher[Tree] = Dispatcher(
    {
        CampaignStarted: _started,
        ActionProposed: _proposed,
        ActionScored: _scored,
        ActionDispatched: _dispatched,
        PatchProposed: _patch,
        ActionRebased: _rebased,
        MeasurementRequested: _requested,
        ProfileTaken: _profiled,
        AccuracyMeasured: _accuracy,
        BenchmarkMeasured: _benchmarked,
        ActionKept: _kept,
        FrontierMoved: _moved,
        ActionReverted: _reverted,
        Crashed: _crashed,
        ActionWithdrawn: _withdrawn,
        ActionVetoed: _vetoed,
        RootCauseFound: _root_cause,
        IntrospectionRecorded: _introspected,
        KeepRevoked: _revoked,
    }
)
