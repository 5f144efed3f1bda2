"""Rules on the work that was done; constructed windows, each with a clean twin.

``lost_requests`` and ``token_recount`` have no recorded case: the engine's client and server agree
on what ended, and its client counts token ids.
"""

import pytest

from arbor.core.guardrails.base import WindowRule
from arbor.core.guardrails.work import (
    EqualWork,
    FullOutputs,
    NoFailedRequests,
    NoLostRequests,
    SeveralTokens,
    TokensCounted,
    WholePrompts,
)
from tests.fakes.evidence import full_window
from tests.fakes.stage import window


@pytest.mark.parametrize(
    ("rule", "fields", "line"),
    [
        (NoFailedRequests(), {"num_failed": 1}, "1 of 21 requests failed"),
        (NoFailedRequests(), {}, None),
        (NoLostRequests(), {"num_planned_requests": 22}, "22 requests were planned, 20 ended"),
        (NoLostRequests(), {"num_planned_requests": 22, "num_failed": 2}, None),
        (NoLostRequests(), {"num_empty": 2}, "2 answers without a token"),
        (NoLostRequests(), {"num_served_requests": 18}, "20 successes, the server 18"),
        (NoLostRequests(), {"num_served_requests": 21}, None),
        (NoLostRequests(), {"num_planned_requests": None, "num_empty": 1}, "1 answers"),
        (FullOutputs(), {"num_output_tokens": 391}, "391 of 400 planned"),
        (FullOutputs(), {"num_output_tokens": 392}, None),
        (SeveralTokens(), {"num_output_tokens": 20}, "20 requests gave 20 tokens"),
        (SeveralTokens(), {"num_output_tokens": 21}, None),
        (WholePrompts(), {"num_rejected": 2, "num_failed": 2}, "refused 2 requests"),
        (WholePrompts(), {"num_input_tokens": 980}, "980 input tokens instead of 1000"),
        (WholePrompts(), {"num_input_tokens": 1020}, "1020 input tokens instead of 1000"),
        (WholePrompts(), {"num_input_tokens": 991}, None),
        (TokensCounted(), {"num_served_output_tokens": 380}, "counts 400 output tokens, the"),
        (TokensCounted(), {"num_served_output_tokens": 398}, None),
    ],
)
def test_a_window(rule: WindowRule, fields: dict[str, object], line: str | None) -> None:
    verdict = rule.of_window(full_window(100.0, **fields))
    assert verdict.missing is None
    assert (verdict.violation is None) == (line is None)
    assert line is None or line in str(verdict.violation)


@pytest.mark.parametrize("rule", [FullOutputs(), WholePrompts(), TokensCounted()])
def test_failures_leave_totals_unjudged(rule: WindowRule) -> None:
    """What failed has no tokens; another rule speaks about it."""
    verdict = rule.of_window(full_window(num_failed=5, num_completed=15, num_output_tokens=300))
    assert verdict.violation is None
    assert verdict.missing


@pytest.mark.parametrize(
    "rule", [NoLostRequests(), FullOutputs(), WholePrompts(), TokensCounted()]
)
def test_a_plain_window_is_not_judged(rule: WindowRule) -> None:
    assert rule.of_window(window(100.0)).missing


def test_nothing_completed_has_no_length() -> None:
    assert SeveralTokens().of_window(full_window(num_completed=0)).missing


@pytest.mark.parametrize(
    "fields",
    [
        {"seed": 2},
        {"num_completed": 19},
        {"num_input_tokens": 999},
        {"num_output_tokens": 399},
        {"num_concurrent_planned": 8},
    ],
)
def test_arms_must_do_the_same(fields: dict[str, object]) -> None:
    verdict = EqualWork().of_pair(full_window(120.0, **fields), full_window())
    assert "!=" in str(verdict.violation)
    assert EqualWork().of_pair(full_window(150.0), full_window()).violation is None
