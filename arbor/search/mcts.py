"""Monte-Carlo tree search over points: nodes are trials, children are variations of them.

Selection is UCB over ranks, so that the scale of values does not matter; progressive widening
lets a node have another child when it was visited often enough; an adviser, or a mutator, writes
the child from its parent.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from arbor.events.errors import InvalidInputError
from arbor.search.advice import Adviser, Question, Told, one_point
from arbor.search.advisers import MutatorAdviser
from arbor.search.base import AskTell, Setup
from arbor.search.space import Point

_EXPLORATION = 0.1
"""Weight of the UCB bonus against ranks between 0 and 1."""
_WIDENING = 0.3
"""A node of n visits may have ``ceil(n ** _WIDENING)`` children."""
_ROOT = 0


@dataclass(slots=True)
class _Node:
    told: Told | None
    """None at the root, whose children are points without a parent."""
    parent: int
    children: list[int] = field(default_factory=list)


class MctsSearch(AskTell):
    """The tree with the mutator."""

    name: ClassVar[str] = "mcts"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._adviser = self._adviser_of(setup)
        self._nodes = [_Node(None, _ROOT)]
        self._chosen = _ROOT
        self._waiting: dict[Point, deque[int]] = {}
        """Parents of pending points."""

    def _adviser_of(self, setup: Setup) -> Adviser:
        return MutatorAdviser(setup.seed)

    def ask(self) -> Point:
        """Return the next point to try: a child of the node that UCB selects.

        Raises:
            AdviceError: the adviser gave no point of the space; nothing was counted.
        """
        self._chosen = _ROOT if self._first else self._select()
        point = super().ask()
        self._wait(point)
        return point

    def _propose(self, number: int, attempt: int) -> Point:  # noqa: ARG002 - rules are checked
        parent = self._nodes[self._chosen].told
        question = Question(self._space, self._told, number, parent=parent)
        return one_point(self._adviser, question)

    def _recognise(self, point: Point) -> None:
        self._chosen = self._select()
        self._wait(point)

    def _wait(self, point: Point) -> None:
        self._waiting.setdefault(point, deque()).append(self._chosen)

    def _learn(self, point: Point, value: float | None) -> None:
        parents = self._waiting.get(point)
        parent = parents.popleft() if parents else _ROOT
        if not parents:
            self._waiting.pop(point, None)
        self._nodes[parent].children.append(len(self._nodes))
        self._nodes.append(_Node(Told(point, value), parent))

    def _select(self) -> int:
        """Return the node that gets another child."""
        visits, rewards, pending = self._backpropagated()
        node = _ROOT
        while True:
            children = self._nodes[node].children
            allowed = math.ceil(max(visits[node], 1) ** _WIDENING)
            if len(children) + pending[node] < allowed or not children:
                return node
            bonus = _EXPLORATION * math.sqrt(math.log(visits[node]))
            node = max(
                children, key=lambda n: rewards[n] / visits[n] + bonus / math.sqrt(visits[n])
            )

    def _backpropagated(self) -> tuple[list[int], list[float], list[int]]:
        """Return visits and summed ranks below every node, and its pending children.

        Pending points count as visits without reward, so that parallel asks spread.
        """
        nodes = self._nodes
        rewards = [0.0, *_ranks([node.told for node in nodes if node.told is not None])]
        visits = [0, *([1] * (len(nodes) - 1))]
        pending = [0] * len(nodes)
        for parents in self._waiting.values():
            for parent in parents:
                visits[parent] += 1
                pending[parent] += 1
        # A child always comes after its parent.
        for number in range(len(nodes) - 1, _ROOT, -1):
            parent = nodes[number].parent
            visits[parent] += visits[number]
            rewards[parent] += rewards[number]
        return visits, rewards, pending


class AdvisedMctsSearch(MctsSearch):
    """The tree with an adviser that writes every child."""

    name: ClassVar[str] = "llm_mcts"

    def _adviser_of(self, setup: Setup) -> Adviser:
        if setup.adviser is None:
            raise InvalidInputError(f"search engine {self.name} needs an adviser")
        return setup.adviser


def _ranks(told: Sequence[Told]) -> list[float]:
    """Return the rank of each trial among those that worked, 0 to 1; equal ones share theirs."""
    values = np.array([np.nan if each.value is None else each.value for each in told])
    worked = np.sort(values[~np.isnan(values)])
    below = np.searchsorted(worked, values, side="left")
    upto = np.searchsorted(worked, values, side="right")
    ranks = (below + upto) / (2.0 * max(1, len(worked)))
    return [0.0 if np.isnan(v) else float(r) for v, r in zip(values, ranks, strict=True)]
