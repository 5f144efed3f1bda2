"""Every accuracy figure is computed again from its raw prompts."""

from arbor.core.distances import summarise
from arbor.events.evidence import AccuracyMeasured
from arbor.events.types import AccuracySample
from arbor.replay.rules.base import Evidence, Findings, difference


class AccuracyFollowsFromPrompts:
    """Means, ends of intervals and the task's score from the distances of prompts."""

    name = "accuracy"
    title = "divergences, agreements, task scores and their intervals follow from the raw prompts"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Recompute every sample."""
        for recorded in evidence.events:
            if isinstance(recorded.event, AccuracyMeasured):
                problem = _problem(recorded.event.sample)
                findings.require(problem is None, recorded.position, problem or "")


def _problem(sample: AccuracySample) -> str | None:
    expected = summarise(
        sample.passes,
        alpha=sample.alpha,
        greedy_match_ratio=sample.greedy_match_ratio,
        task_name=sample.task.name if sample.task is not None else None,
    )
    prompts = [prompt for each in sample.passes for prompt in each.prompts]
    if sample.task is not None and not any(prompt.num_baseline_task_hits for prompt in prompts):
        # a program of its own scored it: no prompt tells of it
        expected = expected.model_copy(update={"task": sample.task})
    found = sample.model_dump(mode="json")
    text = difference(expected.model_dump(mode="json"), found, "accuracy")
    return None if text is None else f"{text}, as its prompts give"
