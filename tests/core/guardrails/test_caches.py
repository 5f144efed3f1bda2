"""Rules on caches and lazy work; constructed windows, each with a clean twin."""

import pytest

from arbor.core.guardrails.base import WindowRule
from arbor.core.guardrails.caches import (
    ColdPrefixCache,
    EqualCodeCaches,
    NoPreemption,
    NothingCompiled,
    WarmedUp,
)
from arbor.events.evidence import PairMeasured
from arbor.events.types import WindowSample
from tests.fakes.evidence import evidence_of, full_window, pair_of
from tests.fakes.stage import window


@pytest.mark.parametrize(
    ("rule", "fields", "line"),
    [
        (ColdPrefixCache(), {"num_reused_input_tokens": 320}, "320 of 1000 input tokens"),
        (ColdPrefixCache(), {"num_reused_input_tokens": 310}, None),
        (ColdPrefixCache(), {"num_reused_input_tokens": 0}, None),
        (NothingCompiled(), {"num_compilations": 2}, "2 pieces of code"),
        (NothingCompiled(), {}, None),
        (NoPreemption(), {"num_preemptions": 7}, "7 sequences"),
        (NoPreemption(), {}, None),
    ],
)
def test_a_window(rule: WindowRule, fields: dict[str, object], line: str | None) -> None:
    verdict = rule.of_window(full_window(100.0, **fields))
    assert verdict.missing is None
    assert (verdict.violation is None) == (line is None)
    assert line is None or line in str(verdict.violation)


@pytest.mark.parametrize("rule", [ColdPrefixCache(), NothingCompiled(), NoPreemption()])
def test_a_plain_window_is_not_judged(rule: WindowRule) -> None:
    assert rule.of_window(window(100.0)).missing


def test_a_preempted_sequence_finds_its_own_prompt() -> None:
    again = full_window(num_reused_input_tokens=900, num_preemptions=3)
    assert ColdPrefixCache().of_window(again).missing


def _series(first: WindowSample, num_later: int = 2, start: int = 1) -> list[PairMeasured]:
    pairs = [pair_of(first, number=1, start=start)]
    return pairs + [pair_of(number=number, start=start) for number in range(2, num_later + 2)]


def test_a_first_window_that_begins_slowly() -> None:
    cold = full_window(60.0, first_tenth_ratio=4.0)
    verdict = WarmedUp().judge(evidence_of(*_series(cold)))
    assert str(verdict.violation).startswith("start 1, candidate: the first window had 50%")
    second_start = [*_series(full_window(120.0)), *_series(cold, start=2)]
    verdict = WarmedUp().judge(evidence_of(*second_start))
    assert str(verdict.violation).startswith("start 2, candidate")


@pytest.mark.parametrize(
    "other",
    [
        # slow all along: another cause
        full_window(60.0, first_tenth_ratio=1.2),
        # a slow beginning that hardly counts
        full_window(110.0, first_tenth_ratio=4.0),
        full_window(120.0),
    ],
)
def test_other_first_windows(other: WindowSample) -> None:
    verdict = WarmedUp().judge(evidence_of(*_series(other)))
    assert (verdict.violation, verdict.missing) == (None, None)


def test_foreign_load_explains_a_slow_first_window() -> None:
    loaded = full_window(60.0, first_tenth_ratio=4.0, foreign_cpu_ratio=0.2)
    verdict = WarmedUp().judge(evidence_of(*_series(loaded)))
    assert verdict.violation is None


def test_two_windows_are_too_few_to_compare() -> None:
    cold = full_window(60.0, first_tenth_ratio=4.0)
    assert WarmedUp().judge(evidence_of(*_series(cold, num_later=1))).missing
    blind = full_window(60.0, first_tenth_ratio=None)
    verdict = WarmedUp().judge(evidence_of(*_series(blind)))
    # the incumbent's windows were observed, and hold
    assert (verdict.violation, verdict.missing) == (None, None)


def test_code_from_different_places() -> None:
    cached, compiled = full_window(), full_window(is_code_cached=False)
    verdict = EqualCodeCaches().of_pair(compiled, cached)
    assert verdict.violation == "only the incumbent took all of its compiled code from a cache"
    assert EqualCodeCaches().of_pair(compiled, compiled).violation is None
    assert EqualCodeCaches().of_pair(cached, window(1.0)).missing
