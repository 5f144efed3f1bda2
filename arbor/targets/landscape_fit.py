"""A landscape fitted from a campaign's log: what was measured becomes the truth of a simulation.

What the log does not tell is not made up: an action that was never measured is worth nothing, and
numbers stand for the best point that was found. So a fitted surface is a lower bound on how much
there is to find, and a fair one on where it lies.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbor.core.interactions import PRIOR_WEIGHT, implied_speedup, learn, touched_share
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Action, Node, Status, Tree
from arbor.events.errors import InvalidInputError
from arbor.events.types import ActionTemplate, CategoryShare, Edit, Requirement, Scalar
from arbor.targets.landscape_config import LandscapeConfig, Noise
from arbor.targets.landscape_surface import EVERY_CATEGORY, Crash, Interaction, Surface, Switch

OTHER = "other"
"""Category of the time that the profile does not name."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What the tries of one template say."""

    node: Node | None
    """The first node with an effect; what later keeps changed is an interaction."""
    crash: str | None
    is_inaccurate: bool


def fit_landscape(state: CampaignState) -> LandscapeConfig:
    """Return the landscape that a campaign's measurements describe.

    Raises:
        InvalidInputError: the campaign has no profile of its baseline or measured nothing.
    """
    tree = state.tree
    root = tree.nodes.get(ROOT_ID)
    if root is None or root.profile is None:
        raise InvalidInputError("the campaign took no profile of its baseline; let it run longer")
    templates = [t for t in tree.templates.values() if not _is_compound(tree, t)]
    known = {t.template_id: _known(tree, t) for t in templates}
    if all(each.node is None for each in known.values()):
        raise InvalidInputError("the campaign measured no action; let it run longer")
    shares = _shares(root)
    categories = {share.category for share in shares}
    switches = tuple(
        _switch(tree, template, known[template.template_id], templates, categories)
        for template in templates
    )
    names = {switch.name for switch in switches}
    return LandscapeConfig(
        surface=Surface(
            categories=shares,
            switches=switches,
            interactions=tuple(_interactions(tree, switches, names)),
            crashes=tuple(
                Crash(all_of=(name,), message=each.crash)
                for name, each in known.items()
                if each.crash is not None
            ),
        ),
        noise=_noise(state),
        seed=state.settings.seed,
    )


def _is_compound(tree: Tree, template: ActionTemplate) -> bool:
    """Return whether a template is a rebuilt path, a bundle or a stack."""
    return any(action.parts for action in tree.history(template.template_id))


def _known(tree: Tree, template: ActionTemplate) -> _Known:
    tries = [a for a in tree.history(template.template_id) if a.node_id is not None]
    nodes = [tree.node(action.node_id or "") for action in tries]
    measured = [node for node in nodes if node.effect is not None and node.has_witness]
    crashes = [node.reason for node in nodes if node.status is Status.CRASHED]
    return _Known(
        measured[0] if measured else None,
        crashes[-1] or "the server ended" if crashes and not measured else None,
        any(_is_inaccurate(action, tree) for action in tries),
    )


def _is_inaccurate(action: Action, tree: Tree) -> bool:
    reason = tree.node(action.node_id or "").reason
    return action.outcome is Status.REVERTED and reason.startswith("accuracy")


def _shares(root: Node) -> tuple[CategoryShare, ...]:
    named = root.profile.shares if root.profile is not None else ()
    total = math.fsum(share.share_ratio for share in named)
    rest = max(0.0, 1.0 - total)
    scale = 1.0 / max(1.0, total)
    found = [
        CategoryShare(category=share.category, share_ratio=share.share_ratio * scale)
        for share in named
        if share.category != EVERY_CATEGORY
    ]
    left = 1.0 - math.fsum(share.share_ratio for share in found)
    if rest > 0 or left > 1e-9:
        found.append(CategoryShare(category=OTHER, share_ratio=max(0.0, left)))
    return tuple(found)


def _switch(
    tree: Tree,
    template: ActionTemplate,
    known: _Known,
    templates: Sequence[ActionTemplate],
    categories: set[str],
) -> Switch:
    kl = 0.0
    log_gain = 0.0
    if known.node is not None:
        log_gain = _log_gain(tree, template, known.node)
        sample = known.node.accuracy
        kl = max(0.0, sample.kl_mean) if sample is not None and not template.is_exact else 0.0
    return Switch(
        name=template.template_id,
        key=f"fitted.{template.template_id}",
        layer=template.layer,
        category=template.category if template.category in categories else EVERY_CATEGORY,
        title=template.title,
        log_gain=log_gain,
        needs=_needs(template, templates, tree.root_config),
        excludes=_excludes(template, templates),
        kl=max(kl, 0.05) if known.is_inaccurate else kl,
        claims_exact=template.is_exact,
        prior_speedup_ratio=template.prior_speedup_ratio,
        cost_s=template.cost_s,
    )


def _log_gain(tree: Tree, template: ActionTemplate, node: Node) -> float:
    ratio = node.effect.ratio if node.effect is not None else 1.0
    profile = tree.profile_at(node.parent_id or ROOT_ID)
    is_named = profile is not None and any(
        share.category == template.category for share in profile.shares
    )
    share = touched_share(tree, node.parent_id or ROOT_ID, template) if is_named else 1.0
    return math.log(implied_speedup(ratio, share))


def _needs(
    template: ActionTemplate, templates: Sequence[ActionTemplate], root: Mapping[str, Scalar]
) -> tuple[str, ...]:
    """Return the one template that brings each requirement which the baseline does not meet."""
    unmet = [r for r in template.requires if root.get(r.key) not in r.any_of]
    found = [
        next((t.template_id for t in templates if t is not template and _sets(t, need)), None)
        for need in unmet
    ]
    return tuple(dict.fromkeys(name for name in found if name is not None))


def _sets(template: ActionTemplate, wanted: Requirement) -> bool:
    return any(e.key == wanted.key and e.value in wanted.any_of for e in template.edits)


def _excludes(template: ActionTemplate, templates: Sequence[ActionTemplate]) -> tuple[str, ...]:
    """Return the templates that set a key to another value, or that a conflict names."""
    own = {edit.key: edit for edit in template.edits}
    return tuple(
        other.template_id
        for other in templates
        if other is not template
        and (
            any(_differs(own.get(edit.key), edit) for edit in other.edits)
            or any(_sets(other, conflict) for conflict in template.conflicts)
        )
    )


def _differs(mine: Edit | None, other: Edit) -> bool:
    return mine is not None and json.dumps(mine.value) != json.dumps(other.value)


def _interactions(tree: Tree, switches: Sequence[Switch], names: set[str]) -> list[Interaction]:
    category = {switch.name: switch.category for switch in switches}
    return [
        Interaction(
            first=each.kept,
            second=each.changed,
            # as it was measured, without the shrinkage that a decision needs
            log_gain=each.log_change * (PRIOR_WEIGHT + each.num) / each.num,
            category=category[each.changed],
        )
        for each in learn(tree).by_pair.values()
        if each.kept in names and each.changed in names
    ]


def _noise(state: CampaignState) -> Noise:
    if state.noise is None:
        return Noise()
    # A pair's log ratio holds the noise of two windows.
    return Noise(
        window_sd=state.noise.effect.sd_log_ratio / math.sqrt(2.0),
        start_sd=state.settings.measure.start_sd / 2.0,
    )
