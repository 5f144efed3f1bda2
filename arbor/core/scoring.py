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
from typing import Literal

from arbor.core.interactions import Interactions, implied_speedup, learn, touched_share
from arbor.core.tree import Status, Tree
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
_TRIED = {Status.KEPT, Status.REVERTED, Status.CRASHED, Status.VETOED}


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


def _posterior(prior: float, weight: float, num_failures: int, num_tries: int) -> float:
    """Return the posterior mean of a Beta prior with mean ``prior`` and ``weight``."""
    return (prior * weight + num_failures) / (weight + num_tries)


def _speedup(tree: Tree, template: ActionTemplate, learned: Interactions | None = None) -> float:
    """Return the template's speed-up, shrunk towards what its earlier tries measured.

    What was measured on another stack is corrected by what the keeps since are known to change.
    """
    log_sum = SPEEDUP_PRIOR_WEIGHT * math.log(template.prior_speedup_ratio)
    weight = SPEEDUP_PRIOR_WEIGHT
    for action in tree.history(template.template_id):
        if action.node_id is None or action.outcome not in _TRIED:
            continue
        node = tree.node(action.node_id)
        share = touched_share(tree, node.parent_id or tree.current_id, template)
        # A crash or a failed gate says that nothing was gained there; what a keep of this path
        # gained is taken, and no promise for another search of the same numbers.
        is_taken = tree.is_on_path(action.node_id, tree.current_id)
        if node.effect is not None and not is_taken:
            log_sum += math.log(implied_speedup(node.effect.ratio, share))
            if learned is not None:
                log_sum += learned.since(tree, node.parent_id or tree.current_id, template)
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
            share = touched_share(tree, tree.current_id, other)
            gains.append(expected_gain(share, other.prior_speedup_ratio))
    return UNLOCK_DISCOUNT * max(gains)


def score_terms(
    tree: Tree,
    template: ActionTemplate,
    settings: SearchSettings,
    mean_cost_s: float,
    extra_cost_s: Callable[[float], float] = lambda _ratio: 0.0,
) -> ScoreTerms:
    """Return the terms of a candidate at the current node.

    Args:
        tree: the tree as known now.
        template: the candidate's template.
        settings: form, exploration and goal.
        mean_cost_s: mean cost of the catalog, the unit of cost.
        extra_cost_s: seconds of measurement beyond the shortest series that showing an expected
            ratio should take: small gains are cheaper to show once windows are short.
    """
    tried = [a for a in tree.actions.values() if a.outcome in _TRIED and a.node_id is not None]
    same = [a for a in tried if tree.templates[a.template_id].layer == template.layer]
    of_category = [a for a in tried if tree.templates[a.template_id].category == template.category]
    crashes = sum(a.outcome is Status.CRASHED for a in same)
    inexact = sum(
        a.outcome is Status.REVERTED and "accuracy" in tree.node(a.node_id or "").reason
        for a in same
    )
    share = touched_share(tree, tree.current_id, template)
    gained = math.log(max(1.0, tree.gain_ratio(tree.current_id)))
    gap = 1.0 - gained / math.log(settings.goal_ratio)
    learned = learn(tree) if settings.learn_interactions else None
    speedup = _speedup(tree, template, learned)
    ratio = 1.0 / (1.0 - min(0.9, expected_gain(share, speedup)))
    return ScoreTerms(
        share_ratio=share,
        speedup_ratio=speedup,
        cost_ratio=(template.cost_s + extra_cost_s(ratio)) / mean_cost_s,
        accuracy_risk_ratio=_posterior(
            template.prior_accuracy_risk_ratio, PRIOR_WEIGHT, inexact, len(same)
        ),
        crash_risk_ratio=_posterior(
            template.prior_crash_risk_ratio, PRIOR_WEIGHT, crashes, len(same)
        ),
        gap_ratio=max(MIN_GAP_RATIO, min(1.0, gap)),
        num_tries=len(tried),
        num_category_tries=len(of_category),
        exploration=settings.exploration,
        unlocked_gain_ratio=_unlocked_gain(tree, template),
    )
