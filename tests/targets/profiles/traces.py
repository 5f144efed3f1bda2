"""Writes small traces in the forms of torch's profiler."""

import gzip
import json
from pathlib import Path
from typing import Any

GEMM, NORM, ATTENTION = "nvjet_tst_128x256", "vllm::fused_add_rms_norm_kernel", "_fwd_kernel"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def kernel(
    name: str, start_us: float, dur_us: float, stream: int = 7, device: int = 0
) -> dict[str, Any]:
    """Return one kernel's event."""
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": device,
        "tid": f"stream {stream}",
        "ts": start_us,
        "dur": dur_us,
        "args": {"stream": stream, "device": device, "correlation": 1, "grid": [1, 1, 1]},
    }


def step(name: str, start_us: float, dur_us: float, device: int = 0) -> dict[str, Any]:
    """Return the annotation of a step on the device's own time line."""
    return {
        "ph": "X",
        "cat": "gpu_user_annotation",
        "name": name,
        "pid": device,
        "tid": "stream 7",
        "ts": start_us,
        "dur": dur_us,
    }


def operator(name: str, start_us: float, dur_us: float, thread: int = 1) -> dict[str, Any]:
    """Return one operator's event."""
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": name,
        "pid": 5,
        "tid": thread,
        "ts": start_us,
        "dur": dur_us,
    }


def write_trace(path: Path, events: list[dict[str, Any]], **keys: Any) -> Path:
    """Write a trace with keys around the events, compressed if the name says so."""
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0}], **keys}
    document |= {"traceEvents": events, "traceName": "trace", "displayTimeUnit": "ms"}
    data = json.dumps(document, indent=2).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
