"""Results of vllm bench serve of several releases; what is missing is not zero."""

import json
from pathlib import Path
from typing import Any

import pytest

from arbor.events.types import WindowSample
from arbor.targets.vllm.bench_result import (
    BadResultError,
    errors_of,
    num_failed,
    read_result,
    sample_fields,
)

RESULT: dict[str, Any] = {
    "date": "20260807-101112",
    "request_rate": "inf",
    "max_concurrency": 2,
    "duration": 2.0,
    "completed": 3,
    "failed": 1,
    "total_input_tokens": 30,
    "total_output_tokens": 12,
    "output_throughput": 6.0,
    "request_goodput": None,
    "max_concurrent_requests": 3,
    "mean_ttft_ms": 5.0,
    "median_ttft_ms": 4.0,
    "p50_ttft_ms": 4.5,
    "p99_ttft_ms": 9.0,
    "mean_tpot_ms": 0.0,
    "median_itl_ms": 2.0,
    "mean_e2el_ms": 40.0,
    "output_lens": [6, 6, 0, 0],
    "itls": [[0.1] * 5, [0.1] * 5, [], []],
    "errors": ["", "", "", "Internal\nServer Error"],
    "generated_texts": ["a", "b", "", ""],
}


def write(folder: Path, result: object) -> Path:
    path = folder / "result.json"
    path.write_text(result if isinstance(result, str) else json.dumps(result))
    return path


def test_fields_of_a_sample(tmp_path: Path) -> None:
    result = read_result(write(tmp_path, RESULT))
    sample = WindowSample(**sample_fields(result, 4, 2))
    assert (sample.num_completed, sample.num_failed, sample.num_empty) == (3, 1, 1)
    assert (sample.num_chunks, sample.throughput_tok_s) == (12, 6.0)
    assert (sample.ttft_ms_p50, sample.ttft_ms_p99, sample.ttft_ms_p95) == (4.5, 9.0, None)
    # zero says that nothing was measured
    assert (sample.tpot_ms_mean, sample.itl_ms_p50) == (None, 2.0)
    assert sample.num_concurrent_max == 2
    kept = json.loads(sample.client_result)
    assert kept["request_rate"] == "inf"
    assert "itls" not in kept
    assert errors_of(result) == ("Internal Server Error",)


def test_an_older_release_does_not_count_failures(tmp_path: Path) -> None:
    lacking = {"failed", "output_lens", "errors", "itls", "max_concurrent_requests"}
    older = {k: v for k, v in RESULT.items() if k not in lacking}
    result = read_result(write(tmp_path, older))
    assert num_failed(result, 4) == 1
    sample = WindowSample(**sample_fields(result, 4, 2))
    assert (sample.num_empty, sample.num_chunks, sample.num_concurrent_max) == (None, None, None)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("no JSON", "is no JSON"),
        ("[1]", "is no object"),
        ({k: v for k, v in RESULT.items() if k != "completed"}, "has no completed"),
        (RESULT | {"total_output_tokens": "many"}, "has no total_output_tokens"),
        (RESULT | {"duration": 0}, "duration is 0"),
    ],
)
def test_what_is_no_result(tmp_path: Path, result: object, message: str) -> None:
    with pytest.raises(BadResultError, match=message):
        read_result(write(tmp_path, result))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadResultError, match="no result was written"):
        read_result(tmp_path / "none")
