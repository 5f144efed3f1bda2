"""Accuracy figures are recomputed from prompts; a score of a program of its own is not theirs."""

from arbor.core.distances import summarise
from arbor.events.types import TaskScore
from arbor.replay.rules.accuracy import _problem
from tests.fakes.accuracy import accuracy_pass, accuracy_sample

SCORE = TaskScore(
    name="own",
    score=0.5,
    standard_error=0.1,
    num_items=9,
    baseline_score=0.5,
    drop_low=-0.1,
    drop_high=0.1,
)


def test_what_follows_from_prompts() -> None:
    sample = accuracy_sample(0.001)
    assert _problem(sample) is None
    assert _problem(sample.model_copy(update={"kl_mean": 0.0})) is not None


def test_a_score_is_forged_only_where_prompts_tell_of_one() -> None:
    told = accuracy_sample(0.001)
    assert _problem(told.model_copy(update={"task": SCORE})) is not None
    silent = accuracy_pass("single", [0.1, 0.2], num_task_hits=0)
    prompts = [p.model_copy(update={"num_baseline_task_hits": 0}) for p in silent.prompts]
    passes = (silent.model_copy(update={"prompts": tuple(prompts)}),)
    for own in (summarise(passes, alpha=0.05), summarise((), alpha=0.05)):
        assert _problem(own.model_copy(update={"task": SCORE})) is None
