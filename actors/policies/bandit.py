"""UCT and PUCT over kept nodes: each step either tries something here or goes down a keep.

Sources: UCT (Kocsis and Szepesvari, 2006), PUCT as in AlphaZero. Values are the log gain of the
best stack below, over the best of the campaign; "here" is an arm of its own, as in searches whose
nodes can always have further children.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
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
        if not may_move(state):
            return None
        chosen = self._descend(_Below(state))
        if chosen in {None, state.tree.current_id}:
            return None
        return move_to(state, chosen or "", "its tries and gains give it the highest bound")

    def home(self, state: CampaignState) -> str:
        """Return the kept node of the largest gain."""
        return best_kept(state)

    def _descend(self, below: "_Below") -> str | None:
        node_id = ROOT_ID
        while arms := below.arms(node_id):
            total = sum(arm.visits for arm in arms)
            best = max(arms, key=lambda arm: arm.value + self._bonus(arm, total))
            if best.node_id == node_id:
                return node_id
            node_id = best.node_id
        return None

    @abstractmethod
    def _bonus(self, arm: Arm, num_visits: int) -> float: ...


class _Below:
    """What lies below every kept node, counted once for a decision."""

    def __init__(self, state: CampaignState) -> None:
        tree = state.tree
        self._kept = kept_nodes(state)
        self._gains = {n.node_id: math.log(tree.gain_ratio(n.node_id)) for n in self._kept}
        self._top = max(*self._gains.values(), 1e-9)
        self._promise = {
            n.node_id: max(prospects(state, n.node_id).values(), default=None) for n in self._kept
        }
        self._own = Counter(n.parent_id for n in tree.nodes.values())
        self._best = dict(self._gains)
        self._visits = {n.node_id: self._own[n.node_id] for n in self._kept}
        self._is_open = {name for name, gain in self._promise.items() if gain is not None}
        # Children come after their parents, so that one pass from the end adds everything up.
        for node in reversed(self._kept):
            parent = node.parent_id
            if parent not in self._best:
                continue
            self._best[parent] = max(self._best[parent], self._best[node.node_id])
            self._visits[parent] += self._visits[node.node_id]
            if node.node_id in self._is_open:
                self._is_open.add(parent)

    def arms(self, node_id: str) -> list[Arm]:
        """Return the open kept children, and the node itself while it can be tried on."""
        own = self._promise[node_id]
        promised = []
        if own is not None:
            promised.append((node_id, self._gains[node_id], self._own[node_id], own))
        for child in self._kept:
            name = child.node_id
            if child.parent_id == node_id and name in self._is_open:
                gained = self._best[name] - self._gains[node_id]
                promised.append((name, self._best[name], 1 + self._visits[name], gained))
        total = math.fsum(max(each[3], 1e-3) for each in promised)
        return [
            Arm(name, max(0.0, best) / self._top, visits, max(gain, 1e-3) / total)
            for name, best, visits, gain in promised
        ]


class Uct(_Bandit):
    """Upper confidence bounds for trees; asks for no prior."""

    def _bonus(self, arm: Arm, num_visits: int) -> float:
        return EXPLORATION * math.sqrt(math.log(1 + num_visits) / (1 + arm.visits))


class Puct(_Bandit):
    """The bonus is weighted with what an arm promises: expected gains, or those measured."""

    def _bonus(self, arm: Arm, num_visits: int) -> float:
        return EXPLORATION * arm.prior * math.sqrt(num_visits) / (1 + arm.visits)
