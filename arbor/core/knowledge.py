"""What earlier campaigns left to this one, and how far its own measurements bear them out."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from arbor.core.measure.shrinkage import log_ratio_variance
from arbor.core.scoring import Imported, expected_gain
from arbor.core.tree import Action, Status, Tree
from arbor.events.base import Recorded
from arbor.events.knowledge import KnowledgeImported, StackImported

MAX_WEIGHT = 3.0
"""Tries that imported beliefs about a template count for at most, all sources together."""
TRANSFER_SD = 0.08
"""Deviation of a log gain from what a source that holds here predicts."""
CATALOG_SD = 0.2
"""Deviation of a log gain from what the catalog alone predicts."""
STACK_SD = 0.2
"""Deviation of a whole stack's log gain from what a source that holds here predicts."""
NO_STACK_SD = 0.5
MAX_STEP = 2.0
"""Most that one measurement moves the log odds of a source: one outlier convicts nobody."""
FAILED_STACK_STEP = -4.5
"""What a stack does to them that crashed, was refused or fell short: it is many beliefs."""
MAX_LOG_ODDS = 5.0
_FAILED = {Status.CRASHED, Status.REVERTED}


@dataclass(slots=True)
class Knowledge:
    """Fold of what was imported; beliefs by template, stacks in their order."""

    beliefs: dict[str, list[KnowledgeImported]] = field(default_factory=lambda: defaultdict(list))
    stacks: list[StackImported] = field(default_factory=list)

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        match recorded.event:
            case KnowledgeImported() as event:
                self.beliefs[event.template_id].append(event)
            case StackImported() as event:
                self.stacks.append(event)
            case _:
                pass

    def stack_of(self, tree: Tree, action: Action) -> StackImported | None:
        """Return the imported stack that an action tries, or None."""
        if action.source != "imported":
            return None
        edits = {(e.key, e.value) for e in tree.templates[action.template_id].edits}
        return next((s for s in self.stacks if edits <= {(e.key, e.value) for e in s.edits}), None)

    def trusts(self, tree: Tree, start_sd: float) -> dict[str, float]:
        """Return the probability of every source that what was seen there holds here.

        It starts at the prior of its distance and is moved by every measured try: how likely the
        measured log gain was, expected as the source does, against as the catalog alone does
        (Bayes factor of two Normal predictions, bounded).

        Args:
            tree: the campaign so far.
            start_sd: deviation of a log ratio from server start to server start.
        """
        priors = {s.source_campaign_id: s.transfer_ratio for s in self.stacks}
        for events in self.beliefs.values():
            priors |= {e.source_campaign_id: e.transfer_ratio for e in events}
        odds = {source: _log_odds(prior) for source, prior in priors.items()}
        if not odds:
            return {}
        for action in tree.actions.values():
            for source, step in self._steps(tree, action, start_sd).items():
                odds[source] += step
        return {
            source: 1.0 / (1.0 + math.exp(-max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, value))))
            for source, value in odds.items()
        }

    def _steps(self, tree: Tree, action: Action, start_sd: float) -> dict[str, float]:
        """Return what one try says about the sources."""
        if action.node_id is None or action.outcome not in {Status.KEPT, *_FAILED}:
            return {}
        stack = self.stack_of(tree, action)
        if stack is not None:
            return {stack.source_campaign_id: _stack_step(tree, action)}
        node = tree.node(action.node_id)
        if node.effect is None or action.outcome is Status.CRASHED:
            return {}
        template = tree.templates[action.template_id]
        profile = tree.profile_at(node.parent_id or node.node_id)
        share = 1.0 if profile is None else profile.share_of(template.category)
        measured = math.log(node.effect.ratio)
        variance = log_ratio_variance(node.effect, start_sd)
        plain = _log_density(
            measured,
            _predicted(share, template.prior_speedup_ratio),
            variance + CATALOG_SD**2,
        )
        return {
            belief.source_campaign_id: _bounded(
                _log_density(
                    measured,
                    _predicted(share, belief.speedup_ratio),
                    variance + belief.log_gain_sd**2 + TRANSFER_SD**2,
                )
                - plain
            )
            for belief in self.beliefs.get(action.template_id, ())
            if belief.num_observations
        }

    def imported(self, template_id: str, trusts: Mapping[str, float]) -> Imported:
        """Return what all sources believe of a template, each by its trust."""
        weight = log_sum = num_tries = num_crashed = num_inexact = 0.0
        for belief in self.beliefs.get(template_id, ()):
            trust = trusts.get(belief.source_campaign_id, 0.0)
            own = trust * min(MAX_WEIGHT, 2.0 * belief.num_observations)
            weight += own
            log_sum += own * math.log(belief.speedup_ratio)
            part = trust * min(1.0, MAX_WEIGHT / max(1, belief.num_tries))
            num_tries += part * belief.num_tries
            num_crashed += part * belief.num_crashed
            num_inexact += part * belief.num_inexact
        excess = max(1.0, num_tries / MAX_WEIGHT)
        return Imported(
            weight=min(MAX_WEIGHT, weight),
            speedup_ratio=math.exp(log_sum / weight) if weight else 1.0,
            num_tries=num_tries / excess,
            num_crashed=num_crashed / excess,
            num_inexact=num_inexact / excess,
        )


def _log_odds(prior: float) -> float:
    inside = max(1e-3, min(1.0 - 1e-3, prior))
    return math.log(inside / (1.0 - inside))


def _predicted(share_ratio: float, speedup_ratio: float) -> float:
    """Return the log ratio of the whole stack that a speed-up of a share gives."""
    return -math.log(1.0 - min(0.95, expected_gain(share_ratio, speedup_ratio)))


def _log_density(value: float, mean: float, variance: float) -> float:
    """Return the log density of a Normal, without its constant."""
    return -0.5 * (math.log(variance) + (value - mean) ** 2 / variance)


def _bounded(step: float) -> float:
    return max(-MAX_STEP, min(MAX_STEP, step))


def _stack_step(tree: Tree, action: Action) -> float:
    node = tree.node(action.node_id or "")
    if action.outcome in _FAILED or node.effect is None:
        return FAILED_STACK_STEP
    expected = math.log(tree.templates[action.template_id].prior_speedup_ratio)
    measured = math.log(node.effect.ratio)
    return _bounded(
        _log_density(measured, expected, STACK_SD**2) - _log_density(measured, 0.0, NO_STACK_SD**2)
    )
