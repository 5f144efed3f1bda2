"""Rules on arithmetic; constructed windows, each with a clean twin.

``peak_as_mean``, ``littles_law`` and ``latency_sum`` have no recorded case: one client computes
all of the engine's figures from the same arrivals.
"""

import pytest

from arbor.core.guardrails.arithmetic import (
    LatencySum,
    LittlesLaw,
    MeanThroughput,
    OneTokenPerChunk,
)
from arbor.core.guardrails.base import WindowRule
from tests.fakes.evidence import full_window
from tests.fakes.stage import window


@pytest.mark.parametrize(
    ("rule", "fields", "line"),
    [
        (MeanThroughput(), {"throughput_tok_s": 130.0}, "130.0 tok/s claimed, 400 tokens in"),
        (MeanThroughput(), {"throughput_tok_s": 100.9}, None),
        (OneTokenPerChunk(), {"num_chunks": 380}, "400 tokens came in 380 chunks"),
        (OneTokenPerChunk(), {"num_chunks": 395}, None),
        (OneTokenPerChunk(), {"itl_ms_p50": 0.02}, "median gap 0.02 ms"),
        (OneTokenPerChunk(), {"num_chunks": None}, None),
        # 20 requests of 820 ms in 4 s are 4.1 at once, but 4 were open
        (LittlesLaw(), {"e2e_ms_mean": 820.0}, "need 4.1 open, at most 4 were"),
        (LittlesLaw(), {"e2e_ms_mean": 300.0}, None),
        (LatencySum(), {"ttft_ms_mean": 260.0}, "requests took 800.0 ms"),
        (LatencySum(), {"tpot_ms_mean": 20.0}, "make 572.0 ms"),
        (LatencySum(), {"ttft_ms_mean": 220.0}, None),
    ],
)
def test_a_window(rule: WindowRule, fields: dict[str, object], line: str | None) -> None:
    clean = full_window(100.0)
    verdict = rule.of_window(clean.model_copy(update=fields))
    assert verdict.missing is None
    assert (verdict.violation is None) == (line is None)
    assert line is None or line in str(verdict.violation)


@pytest.mark.parametrize("rule", [OneTokenPerChunk(), LittlesLaw(), LatencySum()])
def test_a_plain_window_is_not_judged(rule: WindowRule) -> None:
    assert rule.of_window(window(100.0)).missing
