"""The score of a candidate, in both forms, from terms that are recorded with it.

Source: Arbor (arXiv 2606.12563). The paper prints

    h(a) = g / (c (1 - r_acc) (1 - r_crash) m_gap) + C_s ln N / (1 + n_cat)

so that a riskier and a more urgent action would score higher and lower, against its own words.
``as_printed`` is that formula; ``risk_averse`` (the default) multiplies instead of dividing:

    h(a) = (g + u) (1 - r_acc) (1 - r_crash) m_gap / c + C_s ln N / (1 + n_cat)

Its u is ours: the discounted gain of the best action that only this one makes possible, since a
cheap enabler with little gain of its own would otherwise wait until the budget is gone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from arbor.core.tree import Action, Status, Tree
from arbor.events.settings import SearchSettings
from arbor.events.types import ActionTemplate, ScoreTerms

UNLOCK_DISCOUNT = 0.25
"""What an action that becomes possible counts, against one that is possible now."""
PRIOR_WEIGHT = 4.0
"""Pseudo-observations behind a catalog's failure rates."""
SPEEDUP_PRIOR_WEIGHT = 1.0
"""Pseudo-observations behind a catalog's speed-up."""
MIN_GAP_RATIO = 0.1
"""Urgency near the goal; above zero so that ``as_printed`` stays finite."""
_TRIED = {Status.KEPT, Status.REVERTED, Status.CRASHED, Status.VETOED, Status.REFUSED}


@dataclass(frozen=True, slots=True)
class Imported:
    """What earlier campaigns believe of a template, after the doubts that are due here.

    Attributes:
        weight: tries that the belief counts for while nothing was tried here.
        speedup_ratio: believed speed-up of the touched share.
        num_tries: tries that the failures below belong to, discounted.
        num_crashed: crashes among them, discounted.
        num_inexact: failures of the accuracy gate among them, discounted.
    """

    weight: float = 0.0
    speedup_ratio: float = 1.0
    num_tries: float = 0.0
    num_crashed: float = 0.0
    num_inexact: float = 0.0

    def weight_after(self, num_own: int) -> float:
        """Return what the belief counts for beside tries of this campaign."""
        return self.weight / (1.0 + num_own)


NOTHING_IMPORTED = Imported()


def expected_gain(share_ratio: float, speedup_ratio: float) -> float:
    """Return g: the part of the run time that the action should remove.

    Amdahl: speeding a share p up by S removes p (1 - 1/S) of the time.
    """
    return share_ratio * (1.0 - 1.0 / speedup_ratio)


def score(form: Literal["risk_averse", "as_printed"], terms: ScoreTerms) -> float:
    """Return h(a) of recorded terms."""
    gain = expected_gain(terms.share_ratio, terms.speedup_ratio)
    safety = (1.0 - terms.accuracy_risk_ratio) * (1.0 - terms.crash_risk_ratio)
    bonus = (
        terms.exploration * math.log(max(1, terms.num_tries)) / (1.0 + terms.num_category_tries)
    )
    if form == "as_printed":
        return gain / (terms.cost_ratio * safety * terms.gap_ratio) + bonus
    gain += terms.unlocked_gain_ratio
    return gain * safety * terms.gap_ratio / terms.cost_ratio + bonus


def _posterior(prior: float, weight: float, num_failures: float, num_tries: float) -> float:
    """Return the posterior mean of a Beta prior with mean ``prior`` and ``weight``."""
    return (prior * weight + num_failures) / (weight + num_tries)


def implied_speedup(ratio: float, share_ratio: float) -> float:
    """Return the speed-up of a share of the time that explains an end-to-end ratio.

    The inverse of ``expected_gain``, kept within 0.5 .. 20 where noise would exceed the share.
    """
    removed = (1.0 - 1.0 / ratio) / max(share_ratio, 1e-3)
    return 1.0 / (1.0 - max(-1.0, min(0.95, removed)))


def _share(tree: Tree, node_id: str, template: ActionTemplate) -> float:
    """Return the touched share of the time at a node; all of it while no profile is known."""
    profile = tree.profile_at(node_id)
    return profile.share_of(template.category) if profile is not None else 1.0


def _own_tries(tree: Tree, template_id: str) -> list[Action]:
    return [
        action
        for action in tree.history(template_id)
        if action.node_id is not None and action.outcome in _TRIED
    ]


def _speedup(tree: Tree, template: ActionTemplate, imported: Imported) -> float:
    """Return the template's speed-up, shrunk towards what tries here and elsewhere measured."""
    own = _own_tries(tree, template.template_id)
    believed = imported.weight_after(len(own))
    log_sum = SPEEDUP_PRIOR_WEIGHT * math.log(template.prior_speedup_ratio)
    log_sum += believed * math.log(imported.speedup_ratio)
    weight = SPEEDUP_PRIOR_WEIGHT + believed
    for action in own:
        node = tree.node(action.node_id or "")
        share = _share(tree, node.parent_id or tree.current_id, template)
        # A crash or a failed gate says that nothing was gained there; what a keep of this path
        # gained is taken, and no promise for another search of the same numbers.
        is_taken = tree.is_on_path(node.node_id, tree.current_id)
        if node.effect is not None and not is_taken:
            log_sum += math.log(implied_speedup(node.effect.ratio, share))
        weight += 1.0
    return max(1.0 + 1e-6, math.exp(log_sum / weight))


def _unlocked_gain(tree: Tree, template: ActionTemplate) -> float:
    """Return the largest expected gain among untried templates that only lack these edits."""
    config = tree.config_at(tree.current_id)
    after = {**config, **{edit.key: edit.value for edit in template.edits}}
    gains = [0.0]
    for other in tree.templates.values():
        is_possible = all(config.get(r.key) in r.any_of for r in other.requires)
        becomes_possible = all(after.get(r.key) in r.any_of for r in other.requires) and not any(
            after.get(c.key) in c.any_of for c in other.conflicts
        )
        is_fresh = all(a.node_id is None for a in tree.history(other.template_id))
        if becomes_possible and not is_possible and is_fresh:
            share = _share(tree, tree.current_id, other)
            gains.append(expected_gain(share, other.prior_speedup_ratio))
    return UNLOCK_DISCOUNT * max(gains)


def score_terms(
    tree: Tree,
    template: ActionTemplate,
    settings: SearchSettings,
    mean_cost_s: float,
    extra_cost_s: Callable[[float], float] = lambda _ratio: 0.0,
    *,
    imported: Imported = NOTHING_IMPORTED,
) -> ScoreTerms:
    """Return the terms of a candidate at the current node.

    Args:
        tree: the tree as known now.
        template: the candidate's template.
        settings: form, exploration and goal.
        mean_cost_s: mean cost of the catalog, the unit of cost.
        extra_cost_s: seconds of measurement beyond the shortest series that showing an expected
            ratio should take: small gains are cheaper to show once windows are short.
        imported: what earlier campaigns believe of it.
    """
    tried = [a for a in tree.actions.values() if a.outcome in _TRIED and a.node_id is not None]
    same = [a for a in tried if tree.templates[a.template_id].layer == template.layer]
    of_category = [a for a in tried if tree.templates[a.template_id].category == template.category]
    crashes = sum(a.outcome is Status.CRASHED for a in same)
    inexact = sum(
        a.outcome is Status.REVERTED and "accuracy" in tree.node(a.node_id or "").reason
        for a in same
    )
    share = _share(tree, tree.current_id, template)
    gained = math.log(max(1.0, tree.gain_ratio(tree.current_id)))
    gap = 1.0 - gained / math.log(settings.goal_ratio)
    speedup = _speedup(tree, template, imported)
    ratio = 1.0 / (1.0 - min(0.9, expected_gain(share, speedup)))
    return ScoreTerms(
        share_ratio=share,
        speedup_ratio=speedup,
        cost_ratio=(template.cost_s + extra_cost_s(ratio)) / mean_cost_s,
        accuracy_risk_ratio=_posterior(
            template.prior_accuracy_risk_ratio,
            PRIOR_WEIGHT,
            inexact + imported.num_inexact,
            len(same) + imported.num_tries,
        ),
        crash_risk_ratio=_posterior(
            template.prior_crash_risk_ratio,
            PRIOR_WEIGHT,
            crashes + imported.num_crashed,
            len(same) + imported.num_tries,
        ),
        gap_ratio=max(MIN_GAP_RATIO, min(1.0, gap)),
        num_tries=len(tried),
        num_category_tries=len(of_category),
        exploration=settings.exploration,
        imported_weight=imported.weight_after(len(_own_tries(tree, template.template_id))),
        unlocked_gain_ratio=_unlocked_gain(tree, template),
    )
