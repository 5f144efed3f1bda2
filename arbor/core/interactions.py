"""Which keeps change the worth of other actions, from effects measured before and after them.

A template that was measured on two stacks of one path tells what the keeps between them did to
it: the difference of the logarithms of the speed-ups of the share that it touches. The profile's
shift is taken out by that share (Amdahl), so what is left is true interaction. Effects of one pair
of template and keep are shrunk towards none, since single measurements are noisy.
"""

import itertools
import math
from dataclasses import dataclass, field

from arbor.core.tree import Node, Tree
from arbor.events.types import ActionTemplate

PRIOR_WEIGHT = 1.0
"""Pseudo-observations of "no interaction" behind every learned one."""
MAX_LOG_CHANGE = math.log(3.0)
"""A larger change of a speed-up in one comparison is taken as this one."""


def implied_speedup(ratio: float, share_ratio: float) -> float:
    """Return the speed-up of a share of the time that explains an end-to-end ratio.

    The inverse of the expected gain, kept within 0.5 .. 20 where noise would exceed the share.
    """
    removed = (1.0 - 1.0 / ratio) / max(share_ratio, 1e-3)
    return 1.0 / (1.0 - max(-1.0, min(0.95, removed)))


def touched_share(tree: Tree, node_id: str, template: ActionTemplate) -> float:
    """Return the touched share of the time at a node; all of it while no profile is known."""
    profile = tree.profile_at(node_id)
    return profile.share_of(template.category) if profile is not None else 1.0


@dataclass(frozen=True, slots=True)
class Interaction:
    """What a keep did to an action.

    Attributes:
        kept: template that was kept.
        changed: template whose effect was measured before and after.
        log_change: shrunk change of the logarithm of its speed-up; negative: worth less.
        num: comparisons behind it.
    """

    kept: str
    changed: str
    log_change: float
    num: int


@dataclass(slots=True)
class Interactions:
    """All interactions that a tree has shown."""

    by_pair: dict[tuple[str, str], Interaction] = field(default_factory=dict)
    """By kept and changed template."""

    def since(self, tree: Tree, node_id: str, template: ActionTemplate) -> float:
        """Return the known log change of a template by the keeps since a node of the path.

        0 for a node that does not lie on the path in force.
        """
        if not tree.is_on_path(node_id, tree.current_id):
            return 0.0
        before = tree.kept_templates(node_id)
        later = tree.kept_templates(tree.current_id)[len(before) :]
        pairs = ((kept, template.template_id) for kept in later)
        return math.fsum(self.by_pair[p].log_change for p in pairs if p in self.by_pair)

    def largest(self, num: int) -> tuple[Interaction, ...]:
        """Return the largest interactions, whatever their sign."""
        found = sorted(self.by_pair.values(), key=lambda each: -abs(each.log_change))
        return tuple(found[:num])


def learn(tree: Tree) -> Interactions:
    """Return what effects before and after keeps say; a pure function of the folded tree."""
    changes: dict[tuple[str, str], list[float]] = {}
    measured: dict[str, list[Node]] = {}
    for node in tree.nodes.values():
        is_measured = node.effect is not None and node.parent_id is not None
        if is_measured and node.template_id in tree.templates and node.has_witness:
            measured.setdefault(node.template_id or "", []).append(node)
    for template_id, nodes in measured.items():
        for first, second in itertools.pairwise(nodes):
            for kept, change in _compare(tree, tree.templates[template_id], first, second):
                changes.setdefault((kept, template_id), []).append(change)
    return Interactions(
        {
            (kept, changed): Interaction(
                kept, changed, math.fsum(found) / (PRIOR_WEIGHT + len(found)), len(found)
            )
            for (kept, changed), found in changes.items()
        }
    )


def _compare(
    tree: Tree, template: ActionTemplate, first: Node, second: Node
) -> list[tuple[str, float]]:
    """Return, by each keep between two measurements of a template, its part of the change."""
    before, after = first.parent_id or "", second.parent_id or ""
    if not tree.is_on_path(before, after):
        return []
    between = tree.kept_templates(after)[len(tree.kept_templates(before)) :]
    others = [name for name in between if name != template.template_id]
    # Numbers that were searched again are other numbers: their own keep is no interaction.
    if not others or len(others) != len(between):
        return []
    change = _log_speedup(tree, template, second) - _log_speedup(tree, template, first)
    part = max(-MAX_LOG_CHANGE, min(MAX_LOG_CHANGE, change)) / len(others)
    return [(name, part) for name in others]


def _log_speedup(tree: Tree, template: ActionTemplate, node: Node) -> float:
    share = touched_share(tree, node.parent_id or "", template)
    ratio = node.effect.ratio if node.effect is not None else 1.0
    return math.log(implied_speedup(ratio, share))
