"""What stands against a node: constraints and vetoes, which reach into rebuilt paths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arbor.core.rebuilds import parts_of
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Node, Status
from arbor.events.limits import ActionVetoed, ConstraintPublished
from arbor.events.types import RebuiltPart, Scalar


@dataclass(frozen=True, slots=True)
class Offence:
    """A part of a node that a constraint in force forbids."""

    part: RebuiltPart
    constraint: ConstraintPublished


def offence(
    state: CampaignState, parts: Sequence[RebuiltPart], config: Mapping[str, Scalar]
) -> Offence | None:
    """Return the first part that a constraint forbids where the parts before it hold, if any."""
    present = dict(config)
    for part in parts:
        constraint = state.constraints.blocking(part.template_id, part.edits, present)
        if constraint is not None:
            return Offence(part, constraint)
        present.update((edit.key, edit.value) for edit in part.edits)
    return None


def offence_of(state: CampaignState, node: Node) -> Offence | None:
    """Return what a constraint in force forbids of a node on its parent, or None."""
    if node.parent_id is None:
        return None
    config = state.tree.config_at(node.parent_id)
    return offence(state, parts_of(state.tree, node), config)


def ban_of(state: CampaignState, action: Action) -> ActionVetoed | None:
    """Return a veto in force of an action, or of a part of it, or None."""
    names = (action.action_id, *(part.action_id for part in action.parts))
    bans = (state.constraints.ban(name) for name in names)
    return next((ban for ban in bans if ban is not None), None)


def vetoed_keeps(state: CampaignState) -> Iterator[tuple[Action, ActionVetoed]]:
    """Yield the kept actions that were vetoed too late to stop them, with the veto."""
    for action in state.tree.actions.values():
        if action.outcome is not Status.KEPT:
            continue
        ban = ban_of(state, action)
        if ban is not None:
            yield action, ban


def forbidden_keeps(state: CampaignState) -> Iterator[Offence]:
    """Yield what a constraint in force forbids of the path in force and was not vetoed yet."""
    for node in state.tree.path(state.tree.current_id):
        found = offence_of(state, node)
        if found is not None and state.constraints.ban(found.part.action_id) is None:
            yield found
