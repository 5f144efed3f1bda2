"""The passes of an accuracy check: prompts scored and compared until the gate is decided."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from arbor.core.accuracy import Gate, Verdict, outlook
from arbor.core.distances import summarise
from arbor.events.types import AccuracyPass, AccuracySample, PassKind, PromptDistance
from arbor.targets.distance import Scores

# A check looks at its first prompts, and at all of them when those leave it open.
_NUM_LOOKS = 2
# Miscoverage of intervals when nobody stops early.
_ALPHA = 0.05


@dataclass(frozen=True)
class PassPlan:
    """One pass: which prompts, how many at once, and after how many it may end.

    Attributes:
        kind: how its prompts are computed.
        lengths: tokens of each prompt.
        batch: prompts that are computed together.
        looks: numbers of prompts after which the pass may end, rising; the last is all of them.
        score: returns the server's scores of the prompts from a first to before a last.
        compare: returns the distance of a prompt's scores from the baseline's.
    """

    kind: PassKind
    lengths: Sequence[int]
    batch: int
    looks: tuple[int, ...]
    score: Callable[[int, int], Sequence[Scores]]
    compare: Callable[[int, Scores], PromptDistance]


def looks_of(number: int, first: int, *, is_whole: bool) -> tuple[int, ...]:
    """Return after how many prompts a pass may end.

    Args:
        number: all prompts.
        first: prompts of the first look.
        is_whole: everything is compared, whatever is seen.
    """
    return (number,) if is_whole or first >= number else (first, number)


def run_passes(
    plans: Sequence[PassPlan],
    gate: Gate | None,
    *,
    greedy_match_ratio: float | None,
    task_name: str | None = None,
) -> AccuracySample:
    """Run passes in order; the rest is left out once a pass does not hold.

    Args:
        plans: the passes, cheapest first.
        gate: bounds at which to stop early, once they clearly hold or clearly fail; everything is
            compared when None.
        greedy_match_ratio: share of free-running greedy tokens that are equal.
        task_name: name of the task whose hits ``compare`` counts; None when it counts none.

    Raises:
        ServerFailedError: the server failed or hung.
    """
    # every look may end a pass, so each gets its part of the miscoverage
    alpha = _ALPHA if gate is None else gate.settings.alpha / _NUM_LOOKS

    def summary(passes: Sequence[AccuracyPass]) -> AccuracySample:
        return summarise(
            passes, alpha=alpha, greedy_match_ratio=greedy_match_ratio, task_name=task_name
        )

    passes: list[AccuracyPass] = []
    for plan in plans:
        measured, verdict = _measure(plan, gate, summary)
        passes.append(measured)
        if gate is not None and verdict != "holds":
            break
    return summary(passes)


def matching_ratio(expected: Sequence[Sequence[int]], found: Sequence[Sequence[int]]) -> float:
    """Return the share of equal tokens; one that is missing differs.

    Raises:
        ValueError: the numbers of answers differ, or there are no tokens.
    """
    is_equal = [
        bool(our == their)
        for ours, theirs in zip(expected, found, strict=True)
        for our, their in zip_longest(ours, theirs)
    ]
    if not is_equal:
        raise ValueError("a share of equal tokens needs tokens; got 0")
    return sum(is_equal) / len(is_equal)


def _measure(
    plan: PassPlan, gate: Gate | None, summary: Callable[[Sequence[AccuracyPass]], AccuracySample]
) -> tuple[AccuracyPass, Verdict | None]:
    """Score prompts until the gate's bounds clearly hold or clearly fail, or none are left."""
    done: tuple[PromptDistance, ...] = ()
    for stop in plan.looks:
        measured = _extended(plan, done, stop)
        done = measured.prompts
        if gate is not None:
            verdict = outlook(summary([measured]), gate.of_one_pass())
            if verdict is not None:
                return measured, verdict
    return measured, None


def _extended(plan: PassPlan, done: tuple[PromptDistance, ...], stop: int) -> AccuracyPass:
    """Return a pass whose prompts up to ``stop`` are scored, of which some are done."""
    start = len(done)
    more = (
        plan.compare(index, scores) for index, scores in enumerate(plan.score(start, stop), start)
    )
    return AccuracyPass(
        kind=plan.kind,
        batch=min(plan.batch, stop),
        context_tokens=max(plan.lengths[:stop]),
        prompts=(*done, *more),
    )
