"""Group testing: several promising switches in one node, halved where that fails.

One start can settle many switches when most of them help, which is what a catalog with priors
promises. A stack is kept or reverted as a whole; what was in one that failed is tried in stacks of
half its size at most, in the end alone.
"""

import math
from collections.abc import Sequence

from arbor.actors import choosing
from arbor.actors.policies.base import OnePath, Order
from arbor.actors.policies.prospects import expected_log_gain
from arbor.actors.rebuilding import fits
from arbor.core.approval import needs_approval
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Status
from arbor.events.choice import ActionProposed
from arbor.events.types import ActionTemplate, Edit, RebuiltPart, Witness

MAX_PARTS = 8
"""More would hide more losses among the gains."""
MAX_RISK = 0.1
"""Switches that fail more often than this, by accuracy or by a crash, are tried alone."""
MIN_LOG_GAIN = 0.005
"""Smaller expected gains do not carry a stack."""
_FAILED = {Status.REVERTED, Status.CRASHED}


class Stacked(OnePath):
    """Stacks first, then what is left one by one as by default."""

    def proposals(self, state: CampaignState) -> tuple[ActionProposed, ...]:
        """Return what the default proposes, and a stack once all of that is scored."""
        batch = choosing.proposals(state)
        is_scored = state.scored_after >= state.scores_needed_after
        if batch or not is_scored or state.tree.in_flight() or _is_waiting(state):
            return batch
        stack = proposal(state)
        return (stack,) if stack is not None else ()

    def order(self, state: CampaignState, action: Action) -> Order:  # noqa: ARG002 - recorded
        """Return the order by score, with stacks before all that the search wants."""
        precedence, rest, position = choosing.order(action)
        return precedence, 0.0 if action.source == "stack" else 1.0, rest, position

    def num_parallel(self, state: CampaignState) -> int:
        """Return 0 beside a stack at work, whose parts would be tried twice, and 1 before it."""
        if any(_is_stack(state, node.action_id) for node in state.tree.in_flight()):
            return 0
        return 1 if _is_waiting(state) else super().num_parallel(state)


def _is_stack(state: CampaignState, action_id: str | None) -> bool:
    return state.tree.actions[action_id or ""].source == "stack"


def _is_waiting(state: CampaignState) -> bool:
    return any(action.source == "stack" for action in state.tree.candidates())


def proposal(state: CampaignState) -> ActionProposed | None:
    """Return a stack of candidates, or None when less than two can be had together."""
    parts = _parts(state)
    if len(parts) < 2:
        return None
    action_id = f"a{len(state.tree.actions) + 1:03d}"
    template = _template(state, f"stack_{action_id}", parts)
    return ActionProposed(
        action_id=action_id,
        template_id=template.template_id,
        node_id=state.tree.current_id,
        reason=f"{len(parts)} switches in one start",
        source="stack",
        template=template,
        parts=parts,
    )


def _limits(state: CampaignState) -> dict[str, int]:
    """Return, by template, the size of the next stack that it may be part of."""
    limits: dict[str, int] = {}
    for action in state.tree.actions.values():
        if action.source == "stack" and action.outcome in _FAILED:
            half = len(action.parts) // 2
            for part in action.parts:
                limits[part.template_id] = min(half, limits.get(part.template_id, half))
    return limits


def _parts(state: CampaignState) -> tuple[RebuiltPart, ...]:
    tree = state.tree
    limits = _limits(state)
    config = tree.config_at(tree.current_id)
    taken: set[str] = set()
    parts: list[RebuiltPart] = []
    room = MAX_PARTS
    for action in sorted(tree.candidates(), key=choosing.order):
        template = tree.templates[action.template_id]
        limit = min(room, limits.get(template.template_id, MAX_PARTS))
        part = _part(state, action)
        keys = {edit.key for edit in template.edits}
        if (
            part is not None
            and len(parts) < limit
            and limit > 1
            and not keys & taken
            and fits(state, part, config)
        ):
            parts.append(part)
            room = limit
            taken |= keys
            config.update((edit.key, edit.value) for edit in template.edits)
    return tuple(parts)


def _part(state: CampaignState, action: Action) -> RebuiltPart | None:
    """Return a candidate as a part of a stack, or None when it should be tried alone."""
    template = state.tree.templates[action.template_id]
    is_plain = (
        action.source == "orchestrator"
        and action.revives is None
        and not template.space
        and not needs_approval(state, action)
        and template.prior_accuracy_risk_ratio <= MAX_RISK
        and template.prior_crash_risk_ratio <= MAX_RISK
    )
    if not is_plain or expected_log_gain(state, template) < MIN_LOG_GAIN:
        return None
    return RebuiltPart(
        node_id="",
        action_id=action.action_id,
        template_id=template.template_id,
        edits=template.edits,
    )


def _template(state: CampaignState, name: str, parts: Sequence[RebuiltPart]) -> ActionTemplate:
    templates = [state.tree.templates[part.template_id] for part in parts]
    log_gain = math.fsum(expected_log_gain(state, template) for template in templates)
    listed = ", ".join(part.template_id for part in parts)
    return ActionTemplate(
        template_id=name,
        layer=templates[0].layer,
        category="all",
        title=f"Several switches at once: {listed}",
        edits=tuple(Edit(key=e.key, value=e.value) for part in parts for e in part.edits),
        prior_speedup_ratio=math.exp(log_gain),
        cost_s=max(template.cost_s for template in templates),
        is_exact=all(template.is_exact for template in templates),
        witness=Witness(kind="all", parts=tuple(template.witness for template in templates)),
    )
