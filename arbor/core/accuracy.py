"""The accuracy gate: rules that a stack's distance from the baseline must obey, one class each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from arbor.core.distances import Interval, kl_interval, nll_interval, top1_interval
from arbor.events.settings import GateSettings
from arbor.events.types import AccuracyPass, AccuracySample

Verdict = Literal["holds", "fails"]


@dataclass(frozen=True, slots=True)
class Gate:
    """What is asked of a stack.

    Attributes:
        settings: the bounds.
        claims_exact: every action on the stack's path claims not to change numerics.
    """

    settings: GateSettings
    claims_exact: bool

    @property
    def max_kl(self) -> float:
        """Bound for the mean KL divergence, in nats."""
        return self.settings.max_exact_kl if self.claims_exact else self.settings.max_kl_mean

    def of_one_pass(self) -> "Gate":
        """Return the gate for a part of a check, which asks for no other part."""
        settings = self.settings.model_copy(update={"required_passes": ()})
        return Gate(settings, self.claims_exact)


class Rule(Protocol):
    """One rule of the gate; it reads the passes, not the summary of a sample."""

    name: str

    def violation(self, sample: AccuracySample, gate: Gate) -> str | None:
        """Return how the bad end of an interval breaks the bound, or what is not measured."""
        ...

    def is_lost(self, sample: AccuracySample, gate: Gate) -> bool:
        """Return whether even the good end breaks the bound, so that more prompts are in vain."""
        ...


class SameGreedyTokens:
    """A stack that claims to be exact gives the baseline's greedy tokens, every one."""

    name = "greedy_tokens"

    def violation(self, sample: AccuracySample, gate: Gate) -> str | None:
        """Return the share of equal tokens; other stacks are not asked: one token cascades."""
        if not gate.claims_exact:
            return None
        if sample.greedy_match_ratio is None:
            return "greedy tokens of a stack that claims to be exact were not compared"
        if sample.greedy_match_ratio == 1.0:
            return None
        return (
            f"{sample.greedy_match_ratio:.2%} of the greedy tokens are the baseline's; a stack "
            "that claims to be exact gives all of them"
        )

    def is_lost(self, sample: AccuracySample, gate: Gate) -> bool:
        """Return whether a token differs."""
        return gate.claims_exact and sample.greedy_match_ratio not in {None, 1.0}


class BoundedDivergence:
    """The upper end of the mean KL divergence stays within its bound, in every pass."""

    name = "kl"

    def violation(self, sample: AccuracySample, gate: Gate) -> str | None:
        """Return the pass with the largest upper end when that is too large."""
        where, kl = _worst(sample, kl_interval, lambda interval: interval.high)
        if where is None or kl.high <= gate.max_kl:
            return None
        claim = " of a stack that claims to be exact" if gate.claims_exact else ""
        return (
            f"KL up to {kl.high:.2e} nats{claim}, limit {gate.max_kl:.2e} "
            f"(mean {kl.mean:.2e}, {_described(where)})"
        )

    def is_lost(self, sample: AccuracySample, gate: Gate) -> bool:
        """Return whether the lower end of a pass is too large."""
        return any(kl_interval(p, sample.alpha).low > gate.max_kl for p in _judged(sample))


class SameTopToken:
    """The lower end of the share of equal likeliest tokens stays above its bound."""

    name = "top1"

    def violation(self, sample: AccuracySample, gate: Gate) -> str | None:
        """Return the pass with the smallest lower end when that is too small."""
        where, share = _worst(sample, top1_interval, lambda interval: -interval.low)
        limit = gate.settings.min_top1_agreement_ratio
        if where is None or share.low >= limit:
            return None
        return (
            f"top-1 agreement down to {share.low:.2%}, limit {limit:.2%} "
            f"(mean {share.mean:.2%}, {_described(where)})"
        )

    def is_lost(self, sample: AccuracySample, gate: Gate) -> bool:
        """Return whether the upper end of a pass is too small."""
        limit = gate.settings.min_top1_agreement_ratio
        return any(top1_interval(p, sample.alpha).high < limit for p in _judged(sample))


class BoundedLikelihoodLoss:
    """The upper end of the growth of the negative log-likelihood stays within its bound."""

    name = "nll"

    def violation(self, sample: AccuracySample, gate: Gate) -> str | None:
        """Return the pass with the largest upper end when that is too large."""
        where, loss = _worst(sample, nll_interval, lambda interval: interval.high)
        limit = gate.settings.max_nll_delta
        if where is None or loss.high <= limit:
            return None
        return (
            f"NLL up by as much as {loss.high:.4f} nats, limit {limit:.4f} "
            f"(mean {loss.mean:+.4f}, {_described(where)})"
        )

    def is_lost(self, sample: AccuracySample, gate: Gate) -> bool:
        """Return whether the lower end of a pass is too large."""
        limit = gate.settings.max_nll_delta
        return any(nll_interval(p, sample.alpha).low > limit for p in _judged(sample))


class BoundedTaskDrop:
    """The upper end of the paired loss of a task's score stays within its bound.

    The bound is fixed: one that grew with the standard error would pass the more the less was
    measured.
    """

    name = "task"

    def violation(self, sample: AccuracySample, gate: Gate) -> str | None:
        """Return the scores when too much may be lost; a target may have no task."""
        task, limit = sample.task, gate.settings.max_task_drop_ratio
        if task is None or task.drop_high <= limit:
            return None
        return (
            f"{task.name} down by as much as {task.drop_high:.2%}, limit {limit:.2%} (baseline "
            f"{task.baseline_score:.2%}, now {task.score:.2%} +- {task.standard_error:.2%} over "
            f"{task.num_items} items)"
        )

    def is_lost(self, sample: AccuracySample, gate: Gate) -> bool:
        """Return whether even the lower end of the loss is too large."""
        return sample.task is not None and (
            sample.task.drop_low > gate.settings.max_task_drop_ratio
        )


class MeasuredEverywhere:
    """What was not measured is not accepted: every pass, with prompts enough for an interval."""

    name = "measured"

    def violation(self, sample: AccuracySample, gate: Gate) -> str | None:
        """Return the passes that are missing, or have no interval, or too short intervals."""
        if not any(each.prompts for each in sample.passes):
            return None if _has_score_alone(sample, gate) else "no tokens were compared"
        found = {each.kind for each in sample.passes if each.prompts}
        missing = [kind for kind in gate.settings.required_passes if kind not in found]
        single = [each.kind for each in sample.passes if len(each.prompts) == 1]
        if missing:
            return f"not measured: {', '.join(missing)}"
        if single:
            return f"one prompt gives no interval: {', '.join(single)}"
        if sample.alpha > gate.settings.alpha:
            return f"intervals miss {sample.alpha:.1%}, {gate.settings.alpha:.1%} are allowed"
        return None

    def is_lost(self, sample: AccuracySample, gate: Gate) -> bool:  # noqa: ARG002 - never is
        """Return False: what is missing may still come."""
        return False


RULES: tuple[Rule, ...] = (
    SameGreedyTokens(),
    BoundedDivergence(),
    SameTopToken(),
    BoundedLikelihoodLoss(),
    BoundedTaskDrop(),
    MeasuredEverywhere(),
)
"""All rules; a new one is a class and a line here. What was measured comes before what was not."""


def violations(sample: AccuracySample, gate: Gate) -> tuple[str, ...]:
    """Return how a sample breaks the gate, in the order of ``RULES``; empty when it passes."""
    found = (rule.violation(sample, gate) for rule in RULES)
    return tuple(text for text in found if text is not None)


def outlook(sample: AccuracySample, gate: Gate) -> Verdict | None:
    """Return how a check that may go on will clearly end, None while more prompts may decide."""
    if any(rule.is_lost(sample, gate) for rule in RULES):
        return "fails"
    return None if violations(sample, gate) else "holds"


def _has_score_alone(sample: AccuracySample, gate: Gate) -> bool:
    """Return whether a task's score was asked for in the place of any pass, and is there."""
    is_asked = not gate.settings.required_passes and not gate.claims_exact
    return is_asked and sample.task is not None and sample.task.num_items > 1


def _judged(sample: AccuracySample) -> tuple[AccuracyPass, ...]:
    return tuple(each for each in sample.passes if len(each.prompts) > 1)


def _worst(
    sample: AccuracySample,
    interval_of: Callable[[AccuracyPass, float], Interval],
    badness: Callable[[Interval], float],
) -> tuple[AccuracyPass | None, Interval]:
    """Return the pass whose interval has the worst end."""
    measured = [(each, interval_of(each, sample.alpha)) for each in _judged(sample)]
    if not measured:
        return None, Interval(0.0, 0.0, 0.0)
    return max(measured, key=lambda pair: badness(pair[1]))


def _described(measured: AccuracyPass) -> str:
    num_tokens = sum(prompt.num_tokens for prompt in measured.prompts)
    ways = {
        "single": "one prompt at a time",
        "batched": f"{measured.batch} prompts at a time",
        "long": f"contexts of {measured.context_tokens} tokens",
    }
    return f"{num_tokens} tokens, {ways[measured.kind]}"
