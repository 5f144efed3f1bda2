"""The gate: every rule, its order, and that worse or less evidence never helps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.core.accuracy import RULES, Gate, outlook, violations
from arbor.core.distances import summarise
from arbor.events.settings import GateSettings
from arbor.events.types import AccuracyPass, AccuracySample, PassKind, PromptDistance
from tests.fakes.accuracy import accuracy_pass, accuracy_sample

LOOSE = Gate(GateSettings(), claims_exact=False)
EXACT = Gate(GateSettings(), claims_exact=True)
ONE_PASS = LOOSE.of_one_pass()
KINDS: tuple[PassKind, ...] = LOOSE.settings.required_passes


def test_rules_have_names_of_their_own() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    ("sample", "gate", "words"),
    [
        (accuracy_sample(), LOOSE, None),
        (accuracy_sample(), EXACT, None),
        (accuracy_sample(0.005), LOOSE, None),
        (
            accuracy_sample(0.005),
            EXACT,
            "KL up to 5.85e-03 nats of a stack that claims to be exact",
        ),
        (accuracy_sample(0.02), LOOSE, "KL up to 2.34e-02 nats, limit 1.00e-02"),
        # the mean is within the bound, the end of the interval is not
        (accuracy_sample(0.009), LOOSE, "KL up to"),
        (accuracy_sample(num_equal=60), LOOSE, "top-1 agreement down to"),
        (accuracy_sample(num_equal=63, num_prompts=2), LOOSE, "top-1 agreement down to"),
        (accuracy_sample(num_equal=63, num_prompts=16), LOOSE, None),
        (accuracy_sample(nll_delta=0.02), LOOSE, "NLL up by as much as 0.0200 nats, limit 0.0100"),
        (accuracy_sample(nll_delta=-0.02), LOOSE, None),
        (accuracy_sample(num_task_hits=58), LOOSE, "top1 down by as much as"),
        (accuracy_sample(num_task_hits=62), LOOSE, None),
        (accuracy_sample(greedy_match_ratio=0.99), EXACT, "99.00% of the greedy tokens"),
        (accuracy_sample(greedy_match_ratio=0.99), LOOSE, None),
        (accuracy_sample(greedy_match_ratio=None), EXACT, "were not compared"),
        (accuracy_sample(greedy_match_ratio=None), LOOSE, None),
        (accuracy_sample(kinds=()), LOOSE, "no tokens were compared"),
        (accuracy_sample(kinds=("single", "batched")), LOOSE, "not measured: long"),
        (accuracy_sample(num_prompts=1), LOOSE, "one prompt gives no interval: single, batched"),
        (accuracy_sample(alpha=0.1), LOOSE, "intervals miss 10.0%, 5.0% are allowed"),
        (accuracy_sample(alpha=0.01), LOOSE, None),
    ],
)
def test_the_gate(sample: AccuracySample, gate: Gate, words: str | None) -> None:
    found = violations(sample, gate)
    if words is None:
        assert found == ()
    else:
        assert words in found[0]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("single", "one prompt at a time"),
        ("batched", "8 prompts at a time"),
        ("long", "contexts of 64 tokens"),
    ],
)
def test_one_bad_pass_is_enough_and_is_named(kind: PassKind, words: str) -> None:
    passes = [accuracy_pass(each, [0.02 if each == kind else 0.001] * 8) for each in KINDS]
    (text,) = violations(summarise(passes, alpha=0.05), LOOSE)
    assert text.endswith(f"(mean 2.00e-02, 512 tokens, {words})")


def test_what_was_measured_is_told_before_what_was_not() -> None:
    """A check that stops at a clear failure has passes missing, which is not why it failed."""
    found = violations(accuracy_sample(0.5, kinds=("single",)), LOOSE)
    assert found[0].startswith("KL up to")
    assert found[1] == "not measured: batched, long"


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (accuracy_sample(0.001, kinds=("single",)), "holds"),
        (accuracy_sample(0.009, kinds=("single",)), None),
        (accuracy_sample(0.02, kinds=("single",)), "fails"),
        (accuracy_sample(num_equal=63, kinds=("single",), num_prompts=2), None),
        (accuracy_sample(num_equal=32, kinds=("single",)), "fails"),
        (accuracy_sample(nll_delta=0.02, kinds=("single",)), "fails"),
        (accuracy_sample(num_task_hits=30, kinds=("single",)), "fails"),
        (accuracy_sample(num_prompts=1, kinds=("single",)), None),
        (accuracy_sample(greedy_match_ratio=0.5, kinds=("single",)), "holds"),
    ],
)
def test_a_check_ends_when_more_prompts_cannot_change_it(
    sample: AccuracySample, expected: str | None
) -> None:
    assert outlook(sample, ONE_PASS) == expected


def test_another_greedy_token_ends_an_exact_check() -> None:
    sample = accuracy_sample(greedy_match_ratio=0.99, kinds=("single",))
    assert outlook(sample, EXACT.of_one_pass()) == "fails"


def test_a_whole_check_asks_for_all_passes() -> None:
    assert outlook(accuracy_sample(kinds=("single",)), LOOSE) is None
    assert outlook(accuracy_sample(), LOOSE) == "holds"


PROMPTS = st.builds(
    lambda kl, missed, nll, lost: PromptDistance(
        num_tokens=64,
        kl_mean=kl,
        num_top1_equal=64 - missed,
        nll_delta=nll,
        max_logprob_delta=abs(nll),
        num_task_hits=50 - lost,
        num_baseline_task_hits=50,
    ),
    st.floats(0.0, 0.02),
    st.integers(0, 4),
    st.floats(-0.02, 0.02),
    st.integers(-3, 3),
)
SERIES = st.lists(PROMPTS, min_size=2, max_size=10)


def sample_of(prompts: list[PromptDistance]) -> AccuracySample:
    single = AccuracyPass(kind="single", batch=1, context_tokens=65, prompts=tuple(prompts))
    return summarise([single], alpha=0.05, greedy_match_ratio=1.0, task_name="top1")


def passes(prompts: list[PromptDistance], gate: Gate = ONE_PASS) -> bool:
    return violations(sample_of(prompts), gate) == ()


@given(SERIES, st.data())
def test_more_divergence_never_helps(prompts: list[PromptDistance], data: st.DataObject) -> None:
    """In one prompt: KL grows and likeliest tokens differ; in all: NLL grows and hits are lost."""
    index = data.draw(st.integers(0, len(prompts) - 1))
    worse = [*prompts]
    worse[index] = prompts[index].model_copy(
        update={
            "kl_mean": prompts[index].kl_mean + data.draw(st.floats(0.0, 1.0)),
            "num_top1_equal": prompts[index].num_top1_equal - data.draw(st.integers(0, 9)),
        }
    )
    more_nll, more_lost = data.draw(st.floats(0.0, 1.0)), data.draw(st.integers(0, 9))
    worse = [
        each.model_copy(
            update={
                "nll_delta": each.nll_delta + more_nll,
                "num_task_hits": each.num_task_hits - more_lost,
            }
        )
        for each in worse
    ]
    if passes(worse):
        assert passes(prompts)


@given(SERIES, st.integers(2, 4))
def test_less_never_passes_where_more_of_the_same_fails(
    prompts: list[PromptDistance], times: int
) -> None:
    if passes(prompts):
        assert passes(prompts * times)


@given(SERIES)
def test_a_claim_of_exactness_never_helps(prompts: list[PromptDistance]) -> None:
    if passes(prompts, EXACT.of_one_pass()):
        assert passes(prompts)


@given(SERIES)
def test_what_clearly_fails_does_not_pass(prompts: list[PromptDistance]) -> None:
    verdict = outlook(sample_of(prompts), ONE_PASS)
    assert (verdict == "holds") == passes(prompts)


@given(SERIES, st.sampled_from(KINDS))
def test_a_missing_pass_never_passes(prompts: list[PromptDistance], kind: PassKind) -> None:
    whole = [
        AccuracyPass(kind=name, batch=1, context_tokens=65, prompts=tuple(prompts))
        for name in KINDS
        if name != kind
    ]
    sample = summarise(whole, alpha=0.05, greedy_match_ratio=1.0)
    assert violations(sample, LOOSE)[-1] == f"not measured: {kind}"
