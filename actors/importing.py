"""What an earlier campaign ended with, tried here as one action; pure functions of the state."""

import math
from collections.abc import Mapping, Sequence

from arbor.actors.rebuilding import unmet_requirement
from arbor.core.state import CampaignState
from arbor.events.choice import ActionProposed
from arbor.events.knowledge import StackImported
from arbor.events.types import ActionTemplate, Edit, Parameter, Scalar, Witness

MIN_TRUST = 0.85
"""Probability that a source holds here from which its stack is tried. The prior of an equal scene
is above it; from anywhere else own measurements must have borne the source out before."""
MIN_RATIO = 1.02
"""Gain beyond what stands already that makes a stack worth a trial."""
LEAST_PART = 0.75
"""Part of its expected log gain that a stack must show to be kept."""
MIN_TEMPLATES = 2
"""A stack of one template is that template, which is tried anyway."""


def proposal(state: CampaignState) -> ActionProposed | None:
    """Return what the most trusted source had beyond the current stack as one candidate, or None.

    Every source's stack is tried once.
    """
    tree = state.tree
    tried = [a for a in tree.actions.values() if a.source == "imported"]
    if any(a.outcome is None for a in tried):
        return None
    sources = {s.source_campaign_id for a in tried if (s := state.knowledge.stack_of(tree, a))}
    trusts = state.knowledge.trusts(tree, state.settings.measure.start_sd)
    for stack in sorted(
        state.knowledge.stacks, key=lambda s: -trusts[s.source_campaign_id] * math.log(s.ratio)
    ):
        trust = trusts[stack.source_campaign_id]
        if stack.source_campaign_id in sources or trust < MIN_TRUST:
            continue
        template = _template(state, stack)
        if template is not None and not _was_tried(state, template):
            return _proposal(state, stack, template, trust)
    return None


def least_ratio(state: CampaignState, template_id: str) -> float:
    """Return the gain that an action must show to be kept; 1 for what no campaign left.

    A stack that brings much less than it brought elsewhere, by its logarithm, is no longer
    that stack: something in it does harm here, and its parts are better tried one by one.
    """
    if all(a.source != "imported" for a in state.tree.history(template_id)):
        return 1.0
    return math.pow(state.tree.templates[template_id].prior_speedup_ratio, LEAST_PART)


def _proposal(
    state: CampaignState, stack: StackImported, template: ActionTemplate, trust: float
) -> ActionProposed:
    return ActionProposed(
        action_id=f"a{len(state.tree.actions) + 1:03d}",
        template_id=template.template_id,
        node_id=state.tree.current_id,
        reason=f"campaign {stack.source_campaign_id} ended with it, trusted by {trust:.0%} here",
        source="imported",
        template=template,
    )


def _was_tried(state: CampaignState, template: ActionTemplate) -> bool:
    return any(other.edits == template.edits for other in state.tree.templates.values())


def _template(state: CampaignState, stack: StackImported) -> ActionTemplate | None:
    """Return the part of a stack that can be had here as one template, or None."""
    tree = state.tree
    config = tree.config_at(tree.current_id)
    wanted = {e.key: e.value for e in stack.edits if config.get(e.key) != e.value}
    held_back = state.settings.search.require_approval
    known = [t for name in stack.template_ids if (t := tree.templates.get(name)) is not None]
    # What waits for a human is no part of what nobody is asked about.
    parts = [t for t in known if not {t.template_id, t.layer.value} & set(held_back)]
    # Leaving one out can take away what another needs, so until nothing is left out.
    while True:
        edits = _settable(parts, wanted)
        after = config | edits
        fitting = [t for t in parts if _fits(state, t, edits, after)]
        if len(fitting) == len(parts):
            break
        parts = fitting
    # What stands already has its part of the gain.
    ratio = stack.ratio / max(1.0, tree.gain_ratio(tree.current_id))
    if len(parts) < MIN_TEMPLATES or ratio < MIN_RATIO:
        return None
    listed = ", ".join(part.template_id for part in parts)
    return ActionTemplate(
        template_id=f"imported_a{len(tree.actions) + 1:03d}",
        layer=parts[0].layer,
        category="all",
        title=f"The stack of an earlier campaign: {listed}",
        edits=tuple(Edit(key=key, value=value) for key, value in edits.items()),
        prior_speedup_ratio=ratio,
        prior_accuracy_risk_ratio=max(part.prior_accuracy_risk_ratio for part in parts),
        prior_crash_risk_ratio=max(part.prior_crash_risk_ratio for part in parts),
        cost_s=max(part.cost_s for part in parts),
        is_exact=all(part.is_exact for part in parts),
        witness=Witness(kind="all", parts=tuple(part.witness for part in parts)),
    )


def _settable(parts: Sequence[ActionTemplate], wanted: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the wanted edits that templates of this catalog make themselves."""
    own = {(e.key, e.value) for part in parts for e in part.edits}
    spaces = [p for part in parts for p in part.space]
    return {
        key: value
        for key, value in wanted.items()
        if (key, value) in own or any(_holds(space, key, value) for space in spaces)
    }


def _holds(parameter: Parameter, key: str, value: Scalar) -> bool:
    """Return whether a search of this parameter could have found a value."""
    if parameter.key != key:
        return False
    if parameter.kind == "categorical":
        return value in parameter.choices
    if isinstance(value, bool | str) or (parameter.kind == "int" and not isinstance(value, int)):
        return False
    low = -math.inf if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    return low <= value <= high


def _fits(
    state: CampaignState,
    template: ActionTemplate,
    edits: Mapping[str, Scalar],
    after: dict[str, Scalar],
) -> bool:
    """Return whether a template takes part in the edits, and may stand in what they give."""
    keys = {edit.key for edit in template.edits} | {p.key for p in template.space}
    own = tuple(Edit(key=key, value=value) for key, value in edits.items() if key in keys)
    return (
        bool(own)
        and all(after.get(edit.key) == edit.value for edit in template.edits)
        and unmet_requirement(template, after) is None
        and state.constraints.blocking(template.template_id, own, after) is None
    )
