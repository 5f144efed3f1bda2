"""What stands against a node: constraints and vetoes, which reach into rebuilt paths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from arbor.core.rebuilds import parts_of
from arbor.core.scopes import Proposal, machine_name, software_of
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Node, Status
from arbor.events.limits import ActionVetoed, ConstraintPublished
from arbor.events.types import Edit, Parameter, RebuiltPart, Scalar


@dataclass(frozen=True, slots=True)
class Offence:
    """A part of a node that a constraint in force forbids."""

    part: RebuiltPart
    constraint: ConstraintPublished


def forbidding(
    state: CampaignState,
    template_id: str,
    edits: Sequence[Edit],
    config: Mapping[str, Scalar],
    node_id: str,
    *,
    space: Sequence[Parameter] = (),
) -> ConstraintPublished | None:
    """Return a constraint in force that forbids edits of a template on a configuration, or None.

    Args:
        state: the campaign.
        template_id: template of the edits.
        edits: what is set.
        config: the configuration before.
        node_id: node that it belongs to.
        space: numbers that are still to be searched.
    """
    if not state.constraints.in_force or state.started is None:
        return None
    template = state.tree.templates.get(template_id)
    proposal = Proposal(
        template_id=template_id,
        edits=edits,
        config=config,
        space=space,
        layer=template.layer if template is not None else None,
        category=template.category if template is not None else "",
        path=frozenset(node.node_id for node in state.tree.path(node_id)),
        hardware=machine_name(state.started.hardware),
        software=frozenset(software_of(state.started)),
    )
    return state.constraints.blocking(proposal)


def offence(
    state: CampaignState,
    parts: Sequence[RebuiltPart],
    config: Mapping[str, Scalar],
    parent_id: str,
) -> Offence | None:
    """Return the first part that a constraint forbids where the parts before it hold, if any."""
    present = dict(config)
    for part in parts:
        constraint = forbidding(state, part.template_id, part.edits, present, parent_id)
        if constraint is not None:
            return Offence(part, constraint)
        present.update((edit.key, edit.value) for edit in part.edits)
    return None


def offence_of(state: CampaignState, node: Node) -> Offence | None:
    """Return what a constraint in force forbids of a node on its parent, or None."""
    if node.parent_id is None:
        return None
    config = state.tree.config_at(node.parent_id)
    return offence(state, parts_of(state.tree, node), config, node.parent_id)


def lift_reason(
    state: CampaignState, constraint: ConstraintPublished, now: datetime
) -> str | None:
    """Return why a constraint in force ends by itself at a time, or None."""
    lift = constraint.lift
    later = state.constraints.keeps_since(constraint)
    actions = (state.tree.actions.get(action_id) for action_id in later)
    templates = [action.template_id for action in actions if action is not None]
    unlocking = [name for name in templates if name in lift.kept_any_of]
    if unlocking:
        return f"{unlocking[0]} was kept since"
    if lift.num_keeps is not None and len(later) >= lift.num_keeps:
        return f"{len(later)} keeps changed the stack since"
    if lift.after_s is not None:
        active_s = state.budget.elapsed_s(now) - state.published_s[constraint.constraint_id]
        if active_s >= lift.after_s:
            return f"{active_s:.0f} s have passed since"
    return None


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
