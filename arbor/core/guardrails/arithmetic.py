"""Guardrails on arithmetic: figures of one window that must agree with each other."""

from arbor.core.guardrails.base import (
    HOLDS,
    Severity,
    Verdict,
    WindowRule,
    broken,
    not_observed,
)
from arbor.events.types import WindowSample

MEAN_TOLERANCE_RATIO = 0.01
CHUNK_TOLERANCE_RATIO = 0.02
TINY_GAP_RATIO = 0.2
"""Below this share of the time per token, most gaps lie inside a burst."""
LITTLE_TOLERANCE_RATIO = 0.02
SUM_TOLERANCE_RATIO = 0.05


class MeanThroughput(WindowRule):
    """The best second of a window is no throughput."""

    name = "peak_as_mean"
    severity: Severity = "invalid"
    anomaly = 21

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken when the throughput is not tokens over duration."""
        mean = window.num_output_tokens / window.duration_s
        if abs(window.throughput_tok_s - mean) > MEAN_TOLERANCE_RATIO * mean:
            return broken(
                f"{window.throughput_tok_s:.1f} tok/s claimed, {window.num_output_tokens} tokens "
                f"in {window.duration_s:.3f} s are {mean:.1f}"
            )
        return HOLDS


class OneTokenPerChunk(WindowRule):
    """Speculation and gathered streaming make the gap between chunks no time per token."""

    name = "chunked_stream"
    # throughput and TPOT stay right, and they are what is judged
    severity: Severity = "note"
    anomaly = 12

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by fewer chunks than tokens, or gaps far below the time per token."""
        chunks, tokens = window.num_chunks, window.num_output_tokens
        gap_ms, token_ms = window.itl_ms_p50, window.tpot_ms_p50
        if chunks is None and (gap_ms is None or token_ms is None):
            return not_observed("chunks, or gaps between them")
        if chunks is not None and chunks < (1.0 - CHUNK_TOLERANCE_RATIO) * tokens:
            return broken(f"{tokens} tokens came in {chunks} chunks: ITL is not per token")
        if gap_ms is not None and token_ms is not None and gap_ms < TINY_GAP_RATIO * token_ms:
            return broken(f"median gap {gap_ms:.2f} ms, median time per token {token_ms:.2f} ms")
        return HOLDS


class LittlesLaw(WindowRule):
    """Requests that were open on average cannot outnumber those open at most."""

    name = "littles_law"
    severity: Severity = "invalid"
    anomaly = 0

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken when rate times latency exceeds the concurrency (Little 1961, L = lambda W)."""
        if window.e2e_ms_mean is None or window.num_concurrent_max is None:
            return not_observed("end-to-end latency and concurrency")
        mean = window.num_completed * window.e2e_ms_mean / 1e3 / window.duration_s
        if mean > (1.0 + LITTLE_TOLERANCE_RATIO) * window.num_concurrent_max:
            return broken(
                f"{window.num_completed} requests of {window.e2e_ms_mean:.0f} ms in "
                f"{window.duration_s:.3f} s need {mean:.1f} open, at most "
                f"{window.num_concurrent_max} were"
            )
        return HOLDS


class LatencySum(WindowRule):
    """A request lasts as long as its first token and the others together."""

    name = "latency_sum"
    severity: Severity = "suspect"
    anomaly = 0

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken when e2e is not ttft + (n - 1) tpot, in means with n output tokens."""
        ttft_ms, tpot_ms, e2e_ms = window.ttft_ms_mean, window.tpot_ms_mean, window.e2e_ms_mean
        if ttft_ms is None or tpot_ms is None or e2e_ms is None or not window.num_completed:
            return not_observed("means of TTFT, TPOT and end-to-end latency")
        num_more = window.num_output_tokens / window.num_completed - 1.0
        total_ms = ttft_ms + num_more * tpot_ms
        if abs(total_ms - e2e_ms) > SUM_TOLERANCE_RATIO * e2e_ms:
            return broken(
                f"TTFT {ttft_ms:.1f} ms and {num_more:.1f} tokens of {tpot_ms:.2f} ms make "
                f"{total_ms:.1f} ms, requests took {e2e_ms:.1f} ms"
            )
        return HOLDS
