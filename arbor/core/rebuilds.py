"""What a revocation suspended and has to be rebuilt, as a fold beside the tree."""

from dataclasses import dataclass, replace

from arbor.core.constraints import Constraints
from arbor.core.tree import OPEN_STATUSES, Node, Status, Tree
from arbor.events.base import Recorded
from arbor.events.choice import ActionProposed, ActionWithdrawn
from arbor.events.judgement import KeepRevoked
from arbor.events.types import RebuiltPart


def parts_of(tree: Tree, node: Node) -> tuple[RebuiltPart, ...]:
    """Return what a node is made of: itself, or in order what it was rebuilt or bundled from."""
    action = tree.actions.get(node.action_id or "")
    if action is not None and action.parts:
        return action.parts
    return (
        RebuiltPart(
            node_id=node.node_id,
            action_id=node.action_id or "",
            template_id=node.template_id or "",
            edits=node.edits,
        ),
    )


@dataclass(frozen=True, slots=True)
class Suspension:
    """What stood on a revoked commit.

    Attributes:
        revoked_id: the node whose keep was revoked last.
        event_id: event that revoked it.
        parts: what was kept on it, in the order of the path.
        action_id: action that rebuilds the path; None while there is none.
    """

    revoked_id: str
    event_id: str
    parts: tuple[RebuiltPart, ...]
    action_id: str | None = None


@dataclass(slots=True)
class Rebuilds:
    """The latest suspension; one that came in its way is part of it."""

    latest: Suspension | None = None

    def apply(self, recorded: Recorded, tree: Tree, constraints: Constraints) -> None:
        """Fold one event; ``tree`` and ``constraints`` are those before it."""
        match recorded.event:
            case KeepRevoked() as event if event.node_id in tree.nodes:
                parts = (
                    *_surviving(event, tree, constraints),
                    *self._unfinished(tree),
                )
                self.latest = Suspension(event.node_id, recorded.event_id, parts)
            case ActionProposed() as event if (
                event.source == "rebuild" and self.latest is not None
            ):
                self.latest = replace(self.latest, action_id=event.action_id)
            case ActionWithdrawn() as event if (
                self.latest is not None and self.latest.action_id == event.action_id
            ):
                self.latest = replace(self.latest, action_id=None)
            case _:
                pass

    def _unfinished(self, tree: Tree) -> tuple[RebuiltPart, ...]:
        """Return the parts of an earlier suspension that no action has decided yet."""
        if self.latest is None:
            return ()
        action = tree.actions.get(self.latest.action_id or "")
        if action is None:
            return self.latest.parts
        if action.node_id is None:
            is_open = action.is_candidate
        else:
            is_open = tree.node(action.node_id).status in OPEN_STATUSES
        return action.parts if is_open else ()


def _surviving(
    event: KeepRevoked, tree: Tree, constraints: Constraints
) -> tuple[RebuiltPart, ...]:
    """Return what was kept on a node; of a rebuilt one also its parts, unless all of it fell."""
    action = tree.actions.get(tree.node(event.node_id).action_id or "")
    own = action.parts if action is not None and constraints.ban(action.action_id) is None else ()
    above = (
        node
        for node in tree.path(tree.current_id)
        if node.node_id != event.node_id
        and node.status is Status.KEPT
        and tree.is_on_path(event.node_id, node.node_id)
    )
    return (*own, *(part for node in above for part in parts_of(tree, node)))
