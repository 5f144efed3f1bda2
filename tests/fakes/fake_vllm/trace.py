"""A Chrome trace as vLLM's profiler writes it: kernels of some categories on one stream."""

import gzip
import json
from pathlib import Path
from typing import Any

# names of kernels, and how long each runs in microseconds
_KERNELS = (
    ("Cijk_Alik_Bljk_BBS_BH_MT256x224x64", 550),
    ("kernel_unified_attention_2d", 150),
    ("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", 100),
    ("void aiter::greedy_sample_kernel<float>", 120),
    ("something_else_entirely", 80),
)


def write_trace(folder: Path) -> None:
    """Write the trace of one rank, and the front process's, which has no kernels."""
    folder.mkdir(parents=True, exist_ok=True)
    events: list[dict[str, Any]] = []
    now_us = 1000.0
    for _ in range(4):
        for name, took_us in _KERNELS:
            events.append(_event("kernel", name, now_us, took_us))
            now_us += took_us + 5
    rank = folder / "dp0_pp0_tp0_rank0.123.pt.trace.json.gz"
    with gzip.open(rank, "wt") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    front = folder / "host_1.async_llm.123.pt.trace.json"
    front.write_text(json.dumps({"traceEvents": [_event("cpu_op", "asyncio", 0.0, 9e6)]}))


def _event(category: str, name: str, at_us: float, took_us: float) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0,
        "tid": "stream 7",
        "ts": at_us,
        "dur": took_us,
        "args": {"stream": 7, "device": 0},
    }
