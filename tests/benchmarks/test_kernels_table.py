"""The table of kernels from recorded lines; and steps that go on after a stop."""

import json
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

from arbor.kernels.registry import create_operator, operator_names
from benchmarks.kernels_shapes import drawn_shapes
from benchmarks.kernels_table import check_summary, goals, speedup, time_us, write_table
from benchmarks.steps import OutOfTimeError, Results


def timed(median_us: float | None, problem: str = "") -> dict[str, Any]:
    return {
        "median_us": median_us,
        "p20_us": median_us,
        "p80_us": median_us,
        "error": 1e-3,
        "problem": problem,
    }


def bench(operator: str, shape: dict[str, int], **times: float | None) -> dict[str, Any]:
    sizes = ",".join(f"{name}={size}" for name, size in shape.items())
    return {
        "key": f"bench {operator} bf16 {sizes}",
        "operator": operator,
        "dtype": "bf16",
        "shape": shape,
        "num_bytes": 4_000_000,
        "num_flop": 1_000_000,
        "times": {
            label.replace("_", " "): timed(value, "" if value else "wrong: 0.5")
            for label, value in times.items()
        },
    }


ROWS = {"num_rows": 64, "width": 1000}
LINES: list[dict[str, Any]] = [
    {
        "key": "environment", "device": "NVIDIA H200", "architecture": "sm_90",
        "runtime": "CUDA 13.0",
        "torch": "2.11.0", "triton": "3.6.0", "python": "3.12.1",
    },
    {"key": "copy", "bytes_per_s": 4e12},
    {"key": "check softmax bf16 a", "refusals": []},
    {"key": "check softmax bf16 b", "refusals": ["wrong: 0.5"]},
    bench("softmax", ROWS, ours=1.0, ours_again=1.2, eager=2.2, compiled=1.65),
    bench("rms_norm", ROWS, ours=None, ours_again=1.0, eager=2.0),
    bench("matmul", {"m": 8192, "n": 8192, "k": 8192}, ours=10.0, ours_again=10.0, eager=9.0),
    {"key": "search x 0", "num_trials": 6, "space_size": 40, "found_us": 1.02, "best_us": 1.0},
    {"key": "search x 1", "num_trials": 6, "space_size": 40, "found_us": 1.10, "best_us": 1.0},
]  # fmt: skip


def test_ours_is_the_mean_and_must_be_right_both_times() -> None:
    assert time_us(LINES[4], "ours") == pytest.approx(1.1)
    assert speedup(LINES[4]) == pytest.approx(1.5)
    assert time_us(LINES[5], "ours") is None
    assert speedup(LINES[5]) is None
    refused = bench("softmax", ROWS, ours=1.0, ours_again=1.0, eager=2.0, compiled=None)
    assert speedup(refused) is None


def test_goals_are_stated_with_what_was_reached() -> None:
    text = "\n".join(goals(LINES, 4e12))
    assert "| 91% at the worst, 91% in the mean of 1 |" in text
    assert "| 1.50x of 1 |" in text
    assert "at 8192^3 | 0.90x |" in text
    assert "1 of 2 searches; worst 10.0%, at most 15% tried" in text


def test_a_wrong_kernel_prints_no_time(tmp_path: Path) -> None:
    text = write_table(LINES, tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text() == text
    assert "no time: wrong: 0.5" in text
    assert "CUDA 13.0, torch 2.11.0, triton 3.6.0" in text
    assert check_summary(LINES)[0].startswith("1 of 2 checks")


def test_a_later_call_goes_on(tmp_path: Path) -> None:
    later = time.monotonic() + 3600
    Results(tmp_path, later).once("a", lambda: {"value": 1}, {})
    again = Results(tmp_path, later)
    assert again.once("a", lambda: {"value": 2}, {})["value"] == 1
    with pytest.raises(OutOfTimeError):
        Results(tmp_path, time.monotonic() - 1).once("b", dict, {})
    assert [
        json.loads(t)["key"] for t in (tmp_path / "results.jsonl").read_text().splitlines()
    ] == ["a"]


def test_the_script_can_be_imported() -> None:
    assert import_module("benchmarks.kernels_gpu").TUNED_DTYPE == "bf16"


def test_a_step_that_kills_the_process_twice_is_given_up(tmp_path: Path) -> None:
    def dies() -> dict[str, Any]:
        raise SystemExit

    later = time.monotonic() + 3600
    for _ in range(2):
        with pytest.raises(SystemExit):
            Results(tmp_path, later).once("a", dies, {})
    line = Results(tmp_path, later).once("a", dies, {"refusals": ["died"]})
    assert line["refusals"] == ["died"]


@pytest.mark.parametrize("name", operator_names())
def test_shapes_are_drawn_by_seed_and_were_not_tuned(name: str) -> None:
    operator = create_operator(name)
    shapes = drawn_shapes(operator, 1)
    assert shapes == drawn_shapes(operator, 1) != drawn_shapes(operator, 2)
    assert not [shape for shape in shapes if shape in operator.shipped_shapes]
    for shape in shapes:
        operator.check_shape(shape, "bf16")
