"""What campaigns teach about a template: keeps and crashes (Beta), gains (Normal), all shrunk."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from arbor.core.measure.interval import normal_quantile
from arbor.core.measure.shrinkage import log_ratio_variance
from arbor.core.scene import Scene
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Status
from arbor.events.types import ActionTemplate

BETA_WEIGHT = 2.0
"""Pseudo-tries behind a rate: one of each outcome for keeps."""
PRIOR_KEEP_RATIO = 0.5
PRIOR_CRASH_RATIO = 0.05
CONTEXT_SD = 0.1
"""Deviation of a log gain from one place in a tree to another: what more pairs cannot show."""
DEFAULT_GAIN_SD = 0.2
"""Deviation of true log gains while too few were seen to tell."""
MIN_GAIN_SD, MAX_GAIN_SD = 0.05, 0.6
_ENOUGH = 6
"""Effects from which the deviation of true gains is estimated."""
MAX_LOG_GAIN = math.log(20.0)
"""A foreign log may claim anything; no single action makes a stack twenty times faster."""
_LEARNED_FROM = {Status.KEPT, Status.REVERTED, Status.CRASHED, Status.REVOKED}


@dataclass(frozen=True, slots=True)
class Observation:
    """One try of a template and what came of it.

    Attributes:
        template: the catalog's entry.
        is_kept: whether it was kept, and still is.
        is_crash: whether it crashed through its own fault.
        is_inexact: whether it failed the accuracy gate.
        share_ratio: share of the time that it touches where it was tried.
        log_gain: log of the measured ratio of the whole stack; None when none was measured.
        variance: variance of that.
    """

    template: ActionTemplate
    is_kept: bool
    is_crash: bool
    is_inexact: bool
    share_ratio: float
    log_gain: float | None
    variance: float


@dataclass(frozen=True, slots=True)
class Found:
    """An observation with where it was made.

    Attributes:
        scene: hardware, model family and workload.
        source: campaign that it comes from.
        observation: what was seen.
    """

    scene: Scene
    source: str
    observation: Observation


@dataclass(frozen=True, slots=True)
class Lesson:
    """What all tries of a template in one scene teach together.

    Attributes:
        template_id: the action family.
        layer: layer of the stack that it changes.
        category: profile category that it touches.
        scene: hardware, model family and workload.
        num_tries: tries that taught something.
        num_kept: of these, kept.
        num_crashed: of these, crashed through the idea's own fault.
        num_inexact: of these, refused by the accuracy gate.
        num_effects: of these, measured.
        keep_ratio: posterior mean of the chance of a keep.
        crash_ratio: posterior mean of the chance of a crash.
        log_gain: posterior mean of the log ratio of the whole stack.
        log_gain_sd: its posterior deviation.
        share_ratio: mean share of the time that was touched.
        sources: campaigns that it comes from.
    """

    template_id: str
    layer: str
    category: str
    scene: Scene
    num_tries: int
    num_kept: int
    num_crashed: int
    num_inexact: int
    num_effects: int
    keep_ratio: float
    crash_ratio: float
    log_gain: float
    log_gain_sd: float
    share_ratio: float
    sources: tuple[str, ...]

    def interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """Return the credible interval of the stack's ratio."""
        width = normal_quantile(1.0 - alpha / 2.0) * self.log_gain_sd
        return math.exp(self.log_gain - width), math.exp(self.log_gain + width)


def observations(state: CampaignState) -> Iterator[Observation]:
    """Yield what a campaign saw of its own catalog's templates, in order.

    What stands for several (bundles, rebuilt paths, imported stacks), what the environment broke
    and what was never finished teaches nothing about one template.
    """
    catalog = {t.template_id: t for t in state.started.actions} if state.started else {}
    for action in state.tree.actions.values():
        template = catalog.get(action.template_id)
        if template is None or action.parts or action.outcome not in _LEARNED_FROM:
            continue
        if action.outcome is Status.CRASHED and not _is_own_fault(action):
            continue
        if action.node_id is not None:
            yield _observation(state, action, template)


def _is_own_fault(action: Action) -> bool:
    return action.root_cause is None or action.root_cause.blames_idea


def _observation(state: CampaignState, action: Action, template: ActionTemplate) -> Observation:
    tree = state.tree
    node = tree.node(action.node_id or "")
    profile = tree.profile_at(node.parent_id or node.node_id)
    is_crash = action.outcome is Status.CRASHED
    effect = None if is_crash else node.effect
    log_gain = math.log(effect.ratio) if effect is not None else None
    variance = 0.0
    if effect is not None:
        variance = log_ratio_variance(effect, state.settings.measure.start_sd)
    return Observation(
        template=template,
        is_kept=action.outcome is Status.KEPT,
        is_crash=is_crash,
        is_inexact=action.outcome is Status.REVERTED and "accuracy" in node.reason,
        share_ratio=1.0 if profile is None else profile.share_of(template.category),
        log_gain=None if log_gain is None else max(-MAX_LOG_GAIN, min(MAX_LOG_GAIN, log_gain)),
        variance=variance,
    )


def lessons(found: Iterable[Found]) -> tuple[Lesson, ...]:
    """Return one lesson per template and scene, in the order of both.

    A rate is the mean of a Beta posterior of weight ``BETA_WEIGHT``. A log gain is the mean of a
    Normal posterior around no gain, whose variance is estimated from all effects by the method
    of moments; every measured effect has the variance of its series and of its context. So one
    lucky try moves a belief and does not make a law.
    """
    groups: dict[tuple[str, Scene], list[Found]] = defaultdict(list)
    for each in found:
        groups[each.observation.template.template_id, each.scene].append(each)
    prior_sd = gain_sd([f.observation for group in groups.values() for f in group])
    keys = sorted(groups, key=lambda key: (key[0], repr(key[1])))
    return tuple(_lesson(key[1], groups[key], prior_sd) for key in keys)


def gain_sd(seen: Sequence[Observation]) -> float:
    """Return the deviation of true log gains around 0 (Efron and Morris 1973)."""
    effects = [(o.log_gain, o.variance) for o in seen if o.log_gain is not None]
    if len(effects) < _ENOUGH:
        return DEFAULT_GAIN_SD
    excess = statistics.fmean(gain * gain - variance for gain, variance in effects)
    return min(MAX_GAIN_SD, max(MIN_GAIN_SD, math.sqrt(max(0.0, excess))))


def _lesson(scene: Scene, group: Sequence[Found], prior_sd: float) -> Lesson:
    seen = [each.observation for each in group]
    template = seen[-1].template
    num_kept = sum(o.is_kept for o in seen)
    num_crashed = sum(o.is_crash for o in seen)
    precision, weighted, num_effects = prior_sd**-2, 0.0, 0
    for each in seen:
        if each.log_gain is not None:
            own = 1.0 / (each.variance + CONTEXT_SD**2)
            precision += own
            weighted += own * each.log_gain
            num_effects += 1
    return Lesson(
        template_id=template.template_id,
        layer=template.layer.value,
        category=template.category,
        scene=scene,
        num_tries=len(seen),
        num_kept=num_kept,
        num_crashed=num_crashed,
        num_inexact=sum(o.is_inexact for o in seen),
        num_effects=num_effects,
        keep_ratio=beta_mean(num_kept, len(seen), PRIOR_KEEP_RATIO),
        crash_ratio=beta_mean(num_crashed, len(seen), PRIOR_CRASH_RATIO),
        log_gain=weighted / precision,
        log_gain_sd=precision**-0.5,
        share_ratio=statistics.fmean(o.share_ratio for o in seen),
        sources=tuple(dict.fromkeys(each.source for each in group)),
    )


def beta_mean(num: int, num_tries: int, prior_ratio: float) -> float:
    """Return the posterior mean of a rate with a Beta prior of weight ``BETA_WEIGHT``."""
    return (prior_ratio * BETA_WEIGHT + num) / (BETA_WEIGHT + num_tries)
