"""What could still be had from a kept node that is not the frontier; pure functions."""

import math
from dataclasses import replace

from arbor.actors import choosing
from arbor.actors.rebuilding import unmet_requirement
from arbor.core.scoring import expected_gain, score_terms
from arbor.core.state import CampaignState
from arbor.core.tree import Node, Status
from arbor.events.choice import FrontierMoved
from arbor.events.types import ActionTemplate, Edit, Scalar

_Option = tuple[float, ActionTemplate, tuple[Edit, ...]]
MAX_EXPECTED_GAIN = 0.9
"""A larger expected gain would promise more than ten times the speed."""


def kept_nodes(state: CampaignState) -> tuple[Node, ...]:
    """Return the nodes that work could start from, oldest first."""
    return tuple(n for n in state.tree.nodes.values() if n.status is Status.KEPT)


def view_from(state: CampaignState, node_id: str) -> CampaignState:
    """Return the campaign as if a kept node were the frontier; it must not be fed events."""
    return replace(state, tree=replace(state.tree, current_id=node_id))


def expected_log_gain(state: CampaignState, template: ActionTemplate) -> float:
    """Return the expected logarithm of the end-to-end ratio of a template at the frontier."""
    unit = choosing.mean_cost_s(state)
    terms = score_terms(state.tree, template, state.settings.search, unit)
    gain = expected_gain(terms.share_ratio, terms.speedup_ratio)
    return -math.log1p(-min(MAX_EXPECTED_GAIN, gain))


def prospects(state: CampaignState, node_id: str) -> dict[str, float]:
    """Return the templates that may be tried at a kept node, with their expected log gain.

    Those that wait as candidates count where their node is the frontier.
    """
    view = view_from(state, node_id)
    waiting = {a.template_id for a in state.tree.candidates() if not a.parts}
    return {
        template.template_id: min(
            expected_log_gain(view, template), _measured(state, template.template_id)
        )
        for template in view.tree.templates.values()
        if choosing.is_open(view, template)
        or (
            template.template_id in waiting
            and choosing.inapplicable_reason(view, template) is None
        )
    }


def _measured(state: CampaignState, template_id: str) -> float:
    """Return the log gain as which a template is kept somewhere; infinite where it is not."""
    gains = [
        math.log(node.effect.ratio)
        for node in kept_nodes(state)
        if node.template_id == template_id and node.effect is not None
    ]
    return max(gains, default=math.inf)


def bound(state: CampaignState, node_id: str) -> float:
    """Return the optimistic log gain of a node over the baseline.

    What was kept below it is known and may be had again; what is open counts with its expected
    gain. Of actions that exclude each other the larger one counts.
    """
    tree = state.tree
    below = set(tree.kept_templates(tree.current_id)) - set(tree.kept_templates(node_id))
    options: list[_Option] = [
        (gain, tree.templates[name], tree.templates[name].edits)
        for name, gain in prospects(state, node_id).items()
        if name not in below
    ]
    options += [
        (math.log(node.effect.ratio), tree.templates[node.template_id], node.edits)
        for node in tree.path(tree.current_id)
        if node.effect is not None
        and node.template_id is not None
        and not tree.is_on_path(node.node_id, node_id)
    ]
    total = math.log(tree.gain_ratio(node_id))
    config = tree.config_at(node_id)
    left = sorted(options, key=lambda option: -option[0])
    while (index := _first_fitting(left, config)) is not None:
        gain, _, edits = left.pop(index)
        total += max(0.0, gain)
        config.update((edit.key, edit.value) for edit in edits)
        touched = {edit.key for edit in edits}
        left = [option for option in left if not touched & {e.key for e in option[2]}]
    return total


def _first_fitting(options: list[_Option], config: dict[str, Scalar]) -> int | None:
    return next(
        (
            index
            for index, (_, template, _) in enumerate(options)
            if unmet_requirement(template, config) is None
        ),
        None,
    )


def best_kept(state: CampaignState) -> str:
    """Return the kept node of the largest gain along its path; ties go to the frontier."""
    tree = state.tree
    best = tree.current_id
    for node in kept_nodes(state):
        if tree.gain_ratio(node.node_id) > tree.gain_ratio(best):
            best = node.node_id
    return best


def may_move(state: CampaignState) -> bool:
    """Return whether the frontier may move: something was tried since it last did.

    So a search that moves without end is impossible.
    """
    return len(state.tree.nodes) > state.tree.num_nodes_at_move


def move_to(state: CampaignState, node_id: str, reason: str) -> FrontierMoved:
    """Return the move of the frontier to a kept node."""
    return FrontierMoved(node_id=node_id, from_node_id=state.tree.current_id, reason=reason)
