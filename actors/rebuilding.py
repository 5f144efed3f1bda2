"""How a path that lost a commit is rebuilt without it; pure functions of the state."""

import math
from collections.abc import Sequence

from arbor.core.rebuilds import Suspension
from arbor.core.standing import ban_of
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Status
from arbor.events.choice import ActionProposed, ActionWithdrawn
from arbor.events.types import ActionTemplate, Edit, RebuiltPart, Scalar


def unmet_requirement(template: ActionTemplate, config: dict[str, Scalar]) -> str | None:
    """Return what a template needs and a configuration lacks, or has to its harm, or None."""
    for requirement in template.requires:
        if config.get(requirement.key) not in requirement.any_of:
            return f"needs {requirement.key} in {list(requirement.any_of)}"
    for conflict in template.conflicts:
        if config.get(conflict.key) in conflict.any_of:
            return f"does not go with {conflict.key}={config[conflict.key]}"
    return None


def fits(state: CampaignState, part: RebuiltPart, config: dict[str, Scalar]) -> bool:
    """Return whether a part changes a configuration, and nothing forbids it there."""
    return (
        any(config.get(edit.key) != edit.value for edit in part.edits)
        and state.constraints.ban(part.action_id) is None
        and unmet_requirement(state.tree.templates[part.template_id], config) is None
        and state.constraints.blocking(part.template_id, part.edits, config) is None
    )


def holding(state: CampaignState, parts: Sequence[RebuiltPart]) -> tuple[RebuiltPart, ...]:
    """Return the parts that may still be had on the current node, one on top of the other."""
    config = state.tree.config_at(state.tree.current_id)
    found = []
    for part in parts:
        if fits(state, part, config):
            found.append(part)
            config.update((edit.key, edit.value) for edit in part.edits)
    return tuple(found)


def proposal(state: CampaignState) -> ActionProposed | None:
    """Return the proposal of one node from what survived a revocation, or None."""
    suspension = state.rebuilds.latest
    if suspension is None or suspension.action_id is not None:
        return None
    parts = holding(state, suspension.parts)
    if not parts:
        return None
    action_id = f"a{len(state.tree.actions) + 1:03d}"
    template = _template(state, f"rebuild_{action_id}", suspension, parts)
    return ActionProposed(
        action_id=action_id,
        causation_id=suspension.event_id,
        template_id=template.template_id,
        node_id=state.tree.current_id,
        reason=f"the keep of {suspension.revoked_id} was revoked",
        source="rebuild",
        template=template,
        parts=parts,
    )


def _template(
    state: CampaignState, name: str, suspension: Suspension, parts: Sequence[RebuiltPart]
) -> ActionTemplate:
    tree = state.tree
    templates = [tree.templates[part.template_id] for part in parts]
    # parts of a stack were never a node of their own
    nodes = [tree.nodes[part.node_id] for part in parts if part.node_id in tree.nodes]
    ratio = math.prod(node.effect.ratio for node in nodes if node.effect is not None)
    edits = {edit.key: edit.value for part in parts for edit in part.edits}
    listed = ", ".join(part.template_id for part in parts)
    return ActionTemplate(
        template_id=name,
        layer=templates[0].layer,
        category=templates[0].category if len(templates) == 1 else "all",
        title=f"Rebuild the path without {suspension.revoked_id}: {listed}",
        edits=tuple(Edit(key=key, value=value) for key, value in edits.items()),
        prior_speedup_ratio=ratio,
        cost_s=max(template.cost_s for template in templates),
        is_exact=all(template.is_exact for template in templates),
    )


def obstacle(state: CampaignState, action: Action) -> str | None:
    """Return why a rebuilt path or a bundle cannot be had as it was proposed, or None."""
    if (reason := broken_reason(state, action)) is not None:
        return reason
    there = holding(state, action.parts)
    lost = [part.action_id for part in action.parts if part not in there]
    return f"{', '.join(lost)} cannot be had on {state.tree.current_id}" if lost else None


def broken_reason(state: CampaignState, action: Action) -> str | None:
    """Return why a rebuilt path or a bundle must not go on, wherever it is, or None."""
    latest = state.rebuilds.latest
    is_latest = latest is not None and latest.action_id == action.action_id
    if action.source == "rebuild" and not is_latest:
        return "another keep was revoked meanwhile"
    ban = ban_of(state, action)
    return f"{ban.action_id} was vetoed: {ban.reason}" if ban is not None else None


def withdrawals(state: CampaignState) -> tuple[ActionWithdrawn, ...]:
    """Return the work in flight that a revocation or a veto took the ground from."""
    batch = []
    for node in state.tree.in_flight():
        action = state.tree.actions[node.action_id or ""]
        reason = broken_reason(state, action) if action.parts else None
        parent = state.tree.node(node.parent_id or "")
        if node.status is Status.MEASURING and parent.status is Status.REVOKED:
            reason = "its base was revoked"
        if reason is not None:
            batch.append(ActionWithdrawn(action_id=action.action_id, reason=reason))
    return tuple(batch)


def carrier_of(state: CampaignState, action_id: str) -> Action | None:
    """Return the rebuilt path or bundle, wanted or kept, that an action is part of, or None."""
    return next(
        (
            action
            for action in state.tree.actions.values()
            if any(part.action_id == action_id for part in action.parts)
            and _is_carrying(state, action)
        ),
        None,
    )


def _is_carrying(state: CampaignState, action: Action) -> bool:
    if action.outcome is not Status.CRASHED:
        return action.outcome in {None, Status.KEPT}
    cause = action.root_cause
    is_retried = cause is None or cause.is_worth_repeating
    return is_retried and action.num_dispatches < state.settings.search.max_attempts
