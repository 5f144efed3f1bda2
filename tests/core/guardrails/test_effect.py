"""Rules on what was compared; constructed evidence, each with a clean twin.

``accuracy_of_other_commit`` has no recorded case, since the Bench builds both from one request;
``server_warnings`` has none, since the engine's log is empty while it serves.
"""

from dataclasses import replace

import pytest

from arbor.core.guardrails.effect import (
    HasWitness,
    LimitReached,
    NoDebugSwitches,
    QuietLog,
    SameCommit,
)
from arbor.events.types import Counter, Edit, Scalar
from tests.fakes.evidence import accuracy_of, evidence_of, full_window, pair_of
from tests.fakes.stage import window

LIMIT = "application.max_num_seqs"


def test_no_witness() -> None:
    assert (
        HasWitness().judge(evidence_of(has_witness=False)).violation == "fused.used did not grow"
    )
    assert HasWitness().judge(evidence_of()).violation is None


@pytest.mark.parametrize(
    ("value", "peaks", "line"),
    [
        (64, (8,), "raised from 8 to 64, but no window of the candidate went beyond 8"),
        (64, (8, 9), None),
        # less than before: whether it was reached says nothing
        (4, (8,), None),
        (True, (8,), None),
    ],
)
def test_a_raised_limit(value: Scalar, peaks: tuple[int, ...], line: str | None) -> None:
    pairs = [
        pair_of(full_window(120.0, peaks=(Counter(key=LIMIT, value=peak),)), number=number)
        for number, peak in enumerate(peaks, start=1)
    ]
    evidence = replace(
        evidence_of(*pairs), edits=(Edit(key=LIMIT, value=value),), incumbent_config={LIMIT: 8}
    )
    verdict = LimitReached().judge(evidence)
    assert verdict.missing is None
    assert (verdict.violation is None) == (line is None)
    assert line is None or line in str(verdict.violation)


def test_a_number_without_a_peak_is_not_judged() -> None:
    edits, config = (Edit(key="dispatch.threads", value=2),), {"dispatch.threads": 1}
    evidence = replace(evidence_of(), edits=edits, incumbent_config=config)
    assert LimitReached().judge(evidence).missing == "how far dispatch.threads was used"


def test_accuracy_of_another_commit() -> None:
    other = replace(evidence_of(), accuracy=accuracy_of("d"))
    assert SameCommit().judge(other).violation == "speed was measured on c, accuracy on d"
    assert SameCommit().judge(replace(other, accuracy=None)).missing


def test_what_was_left_on() -> None:
    rule = NoDebugSwitches()
    verdict = rule.of_window(full_window(debug_switches=("engine profiler", "TORCH_LOGS")))
    assert verdict.violation == "left on: engine profiler, TORCH_LOGS"
    assert rule.of_window(full_window()).violation is None
    assert rule.of_window(window(1.0)).missing


def test_warnings_in_the_log() -> None:
    rule = QuietLog()
    verdict = rule.of_window(full_window(num_log_warnings=2))
    assert verdict.violation == "the server logged 2 warnings or errors"
    assert rule.of_window(full_window()).violation is None
    assert rule.of_window(window(1.0)).missing
