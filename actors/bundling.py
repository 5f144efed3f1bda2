"""Small gains proved together: what could not be shown alone is tried as one node."""

import math
from collections.abc import Sequence

from arbor.actors.rebuilding import fits
from arbor.core.rebuilds import parts_of
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Status
from arbor.events.choice import ActionProposed
from arbor.events.types import ActionTemplate, Edit, RebuiltPart, Witness

MAX_PARTS = 6
"""More could hide a loss among the gains."""
MIN_PART_LOG_GAIN = 0.005
"""A part must look like a gain; half of the smallest one that counts alone."""
SHRINKAGE = 0.5
"""What is expected of a gain that was seen and not proved, of its logarithm."""


def proposal(state: CampaignState) -> ActionProposed | None:
    """Return one action out of gains that were seen and could not be proved alone, or None.

    Two changes of two per cent are twice as large together, and no harder to measure. Every part
    took effect when it was measured alone, and is in one bundle at most.
    """
    parts = _fitting(state, _unproved(state))
    if len(parts) < 2:
        return None
    action_id = f"a{len(state.tree.actions) + 1:03d}"
    template = _template(state, f"bundle_{action_id}", parts)
    names = ", ".join(part.template_id for part in parts)
    return ActionProposed(
        action_id=action_id,
        template_id=template.template_id,
        node_id=state.tree.current_id,
        reason=f"none was proved alone: {names}",
        source="bundle",
        template=template,
        parts=parts,
    )


def _unproved(state: CampaignState) -> list[Action]:
    """Return the latest tries that looked like a gain, the largest first."""
    tree = state.tree
    bundled = {part.action_id for action in tree.actions.values() for part in action.parts}
    latest: dict[str, Action] = {}
    for action in tree.actions.values():
        if action.node_id is not None and not action.parts:
            latest[action.template_id] = action
    found = [
        action
        for action in latest.values()
        if action.outcome is Status.REVERTED
        and action.source != "imported"
        and action.action_id not in bundled
        and tree.node(action.node_id or "").has_witness
        and _log_gain(state, action) >= MIN_PART_LOG_GAIN
    ]
    return sorted(found, key=lambda action: -_log_gain(state, action))


def _log_gain(state: CampaignState, action: Action) -> float:
    effect = state.tree.node(action.node_id or "").effect
    return math.log(effect.ratio) if effect is not None else 0.0


def _fitting(state: CampaignState, actions: Sequence[Action]) -> tuple[RebuiltPart, ...]:
    """Return the actions that can be had on the current node, one on top of the other."""
    tree = state.tree
    config = tree.config_at(tree.current_id)
    taken: set[str] = set()
    parts: list[RebuiltPart] = []
    for action in actions:
        (part,) = parts_of(tree, tree.node(action.node_id or ""))
        keys = {edit.key for edit in part.edits}
        if len(parts) < MAX_PARTS and not keys & taken and fits(state, part, config):
            parts.append(part)
            taken |= keys
            config.update((edit.key, edit.value) for edit in part.edits)
    return tuple(parts)


def _template(state: CampaignState, name: str, parts: Sequence[RebuiltPart]) -> ActionTemplate:
    tree = state.tree
    templates = [tree.templates[part.template_id] for part in parts]
    log_gain = sum(_log_gain(state, tree.actions[part.action_id]) for part in parts)
    listed = ", ".join(part.template_id for part in parts)
    return ActionTemplate(
        template_id=name,
        layer=templates[0].layer,
        category="all",
        title=f"Small gains together: {listed}",
        edits=tuple(Edit(key=e.key, value=e.value) for part in parts for e in part.edits),
        prior_speedup_ratio=math.exp(SHRINKAGE * log_gain),
        cost_s=max(template.cost_s for template in templates),
        is_exact=all(template.is_exact for template in templates),
        witness=Witness(kind="all", parts=tuple(template.witness for template in templates)),
    )
