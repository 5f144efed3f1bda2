"""Guardrails on the work that was done: all of it, the same in both arms, counted once."""

from arbor.core.guardrails.base import (
    HOLDS,
    PairRule,
    Severity,
    Verdict,
    WindowRule,
    broken,
    not_observed,
)
from arbor.events.types import WindowSample

OUTPUT_TOLERANCE_RATIO = 0.02
"""Output tokens may fall short of the plan by this much."""
COUNT_TOLERANCE_RATIO = 0.01
"""Two counts of the same tokens may differ by this much."""


class NoFailedRequests(WindowRule):
    """Failed requests count as fast ones in many tools: none may fail."""

    name = "failed_requests"
    severity: Severity = "invalid"
    anomaly = 6

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by any failed request."""
        if window.num_failed:
            total = window.num_failed + window.num_completed
            return broken(f"{window.num_failed} of {total} requests failed")
        return HOLDS


class NoLostRequests(WindowRule):
    """Errors can pass for success: what was asked must have ended, here and at the server."""

    name = "lost_requests"
    severity: Severity = "invalid"
    anomaly = 6

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by requests that vanished, came back empty, or that the server did not end."""
        planned, served = window.num_planned_requests, window.num_served_requests
        if planned is None and served is None and window.num_empty is None:
            return not_observed("planned requests, empty answers or the server's own count")
        done = window.num_completed + window.num_failed
        if planned is not None and planned != done:
            return broken(f"{planned} requests were planned, {done} ended")
        if window.num_empty:
            return broken(f"{window.num_empty} answers without a token passed for success")
        if served is not None and served < window.num_completed:
            return broken(
                f"the client counts {window.num_completed} successes, the server {served}"
            )
        return HOLDS


class FullOutputs(WindowRule):
    """Answers that end early make requests cheap: the planned output must have come."""

    name = "short_outputs"
    severity: Severity = "invalid"
    anomaly = 3

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by fewer output tokens than planned; failed requests are another rule's."""
        planned = window.num_planned_output_tokens
        if planned is None or window.num_failed:
            return not_observed("planned output tokens of a window without failures")
        if window.num_output_tokens < (1.0 - OUTPUT_TOLERANCE_RATIO) * planned:
            return broken(f"{window.num_output_tokens} of {planned} planned output tokens came")
        return HOLDS


class SeveralTokens(WindowRule):
    """With one output token a request there is no decoding to measure."""

    name = "single_token_outputs"
    severity: Severity = "invalid"
    anomaly = 4

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by a mean output of one token or less."""
        if not window.num_completed:
            return not_observed("completed requests")
        if window.num_output_tokens <= window.num_completed:
            return broken(
                f"{window.num_completed} requests gave {window.num_output_tokens} tokens in all"
            )
        return HOLDS


class WholePrompts(WindowRule):
    """A server may cut or refuse prompts that are too long for it."""

    name = "cut_prompts"
    severity: Severity = "invalid"
    anomaly = 5

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by refused requests, or by another number of input tokens than planned."""
        if window.num_rejected:
            return broken(f"the server refused {window.num_rejected} requests")
        planned = window.num_planned_input_tokens
        if planned is None or window.num_failed:
            return not_observed("planned input tokens of a window without failures")
        if abs(window.num_input_tokens - planned) > COUNT_TOLERANCE_RATIO * planned:
            return broken(f"{window.num_input_tokens} input tokens instead of {planned}")
        return HOLDS


class TokensCounted(WindowRule):
    """Tokens counted from text are not the server's tokens."""

    name = "token_recount"
    severity: Severity = "invalid"
    anomaly = 17

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken when client and server count the output differently."""
        served = window.num_served_output_tokens
        if served is None or window.num_failed:
            return not_observed("the server's own count of output tokens, without failures")
        if abs(window.num_output_tokens - served) > COUNT_TOLERANCE_RATIO * max(served, 1):
            return broken(
                f"the client counts {window.num_output_tokens} output tokens, the server {served}"
            )
        return HOLDS


class EqualWork(PairRule):
    """Both arms of a pair must have done the same work."""

    name = "equal_work"
    severity: Severity = "invalid"
    anomaly = 15

    def of_pair(self, candidate: WindowSample, incumbent: WindowSample) -> Verdict:
        """Broken when seed, requests, tokens or concurrency differ."""
        work_a, work_b = _work(candidate), _work(incumbent)
        if work_a != work_b:
            return broken(f"(seed, requests, input, output, open) {work_a} != {work_b}")
        return HOLDS


def _work(window: WindowSample) -> tuple[int | None, ...]:
    return (
        window.seed,
        window.num_completed,
        window.num_input_tokens,
        window.num_output_tokens,
        window.num_concurrent_planned,
    )
