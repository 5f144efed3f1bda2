"""UCT and PUCT over kept nodes: each step either tries something here or goes down a keep.

Sources: UCT (Kocsis and Szepesvari, 2006), PUCT as in AlphaZero. Values are the log gain of the
best stack below, over the best of the campaign; "here" is an arm of its own, as in searches whose
nodes can always have further children.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from arbor.actors.policies.base import OnePath
from arbor.actors.policies.prospects import best_kept, kept_nodes, may_move, move_to, prospects
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID
from arbor.events.choice import FrontierMoved

EXPLORATION = 0.5
"""Weight of the bonus; values lie between 0 and 1."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way down from a node.

    Attributes:
        node_id: kept child, or the node itself: something is tried there.
        value: best log gain below, over the best of the campaign; 0 to 1.
        visits: tries below.
        prior: its part of what all arms promise.
    """

    node_id: str
    value: float
    visits: int
    prior: float


class _Bandit(OnePath, ABC):
    def move(self, state: CampaignState) -> FrontierMoved | None:
        """Return the move to the chosen node, or None when it is the frontier."""
        chosen = self._descend(state, ROOT_ID)
        if chosen == state.tree.current_id or not may_move(state, chosen):
            return None
        return move_to(state, chosen, "its tries and gains give it the highest bound")

    def home(self, state: CampaignState) -> str:
        """Return the kept node of the largest gain."""
        return best_kept(state)

    def _descend(self, state: CampaignState, node_id: str) -> str:
        while True:
            arms = self._arms(state, node_id)
            if not arms:
                return state.tree.current_id
            total = sum(arm.visits for arm in arms)
            best = max(arms, key=lambda arm: arm.value + self._bonus(arm, total))
            if best.node_id == node_id:
                return node_id
            node_id = best.node_id

    def _arms(self, state: CampaignState, node_id: str) -> list[Arm]:
        """Return the kept children, and the node itself while something can be tried there."""
        tree = state.tree
        top = max(math.log(tree.gain_ratio(best_kept(state))), 1e-9)
        tries = [n for n in tree.nodes.values() if n.parent_id is not None]
        promised: list[tuple[str, float, int, float]] = []
        open_here = prospects(state, node_id)
        if open_here and (node_id == tree.current_id or may_move(state, node_id)):
            own = sum(n.parent_id == node_id for n in tries)
            value = math.log(tree.gain_ratio(node_id)) / top
            promised.append((node_id, value, own, max(open_here.values())))
        for child in kept_nodes(state):
            if child.parent_id != node_id or not _has_room_below(state, child.node_id):
                continue
            below = [n for n in tries if tree.is_on_path(child.node_id, n.node_id)]
            best = max(math.log(tree.gain_ratio(n.node_id)) for n in below)
            gained = best - math.log(tree.gain_ratio(node_id))
            promised.append((child.node_id, best / top, len(below), max(gained, 1e-3)))
        total = sum(each[3] for each in promised)
        return [
            Arm(name, max(0.0, value), visits, promise / total if total else 0.0)
            for name, value, visits, promise in promised
        ]

    @abstractmethod
    def _bonus(self, arm: Arm, num_visits: int) -> float: ...


def _has_room_below(state: CampaignState, node_id: str) -> bool:
    """Return whether something can be tried at a node or at a keep below it."""
    tree = state.tree
    return any(
        tree.is_on_path(node_id, node.node_id)
        and (node.node_id == tree.current_id or may_move(state, node.node_id))
        and prospects(state, node.node_id)
        for node in kept_nodes(state)
    )


class Uct(_Bandit):
    """Upper confidence bounds for trees; asks for no prior."""

    def _bonus(self, arm: Arm, num_visits: int) -> float:
        return EXPLORATION * math.sqrt(math.log(1 + num_visits) / (1 + arm.visits))


class Puct(_Bandit):
    """The bonus is weighted with what an arm promises: expected gains, or those measured."""

    def _bonus(self, arm: Arm, num_visits: int) -> float:
        return EXPLORATION * arm.prior * math.sqrt(num_visits) / (1 + arm.visits)
