"""Traces of torch's profiler: shares, idle time, phases, ranks, and files that are broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from arbor.events.errors import InvalidInputError
from arbor.events.types import Profile
from arbor.targets.profiles import profile_of_trace
from tests.targets.profiles.traces import (
    ATTENTION,
    GEMM,
    NORM,
    REDUCE,
    kernel,
    operator,
    step,
    write_trace,
)

# a clock that counts microseconds since 1970
START_US = 1_786_000_000_000_000.0


def shares(profile: Profile) -> dict[str, float]:
    return {share.category: share.share_ratio for share in profile.shares}


@pytest.mark.parametrize("name", ["rank0.pt.trace.json", "rank0.pt.trace.json.gz"])
def test_shares_idle_time_and_streams(tmp_path: Path, name: str) -> None:
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
        kernel(GEMM, START_US, 60),
        kernel(NORM, START_US + 60, 20),
        # beside the product, on a stream of its own
        kernel(ATTENTION, START_US + 40, 20, stream=8),
        {**kernel("Memcpy HtoD (Host -> Device)", START_US + 90, 10), "cat": "gpu_memcpy"},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": START_US, "dur": 500},
        {"ph": "s", "cat": "ac2g", "id": 1, "ts": START_US},
    ]
    profile = profile_of_trace(write_trace(tmp_path / name, events))
    assert shares(profile) == pytest.approx(
        {
            "gemm": 60 / 110,
            "norm_act_elementwise": 20 / 110,
            "attention": 20 / 110,
            "memcpy": 10 / 110,
        }
    )
    assert profile.window_s == pytest.approx(100e-6)
    # busy from 0 to 80 and from 90 to 100
    assert profile.idle_ratio == pytest.approx(0.1)
    assert profile.exposed_comm_ratio == 0
    assert (profile.num_ranks, profile.num_streams) == (1, 2)
    assert profile.kernels[0].name == GEMM
    assert profile.kernels[0].num_calls == 1


def test_communication_is_exposed_where_nothing_is_computed(tmp_path: Path) -> None:
    events = [kernel(GEMM, 0, 60), kernel(REDUCE, 40, 60, stream=9)]
    profile = profile_of_trace(write_trace(tmp_path / "a.json", events))
    assert profile.exposed_comm_ratio == pytest.approx(0.4)
    assert shares(profile)["comm"] == pytest.approx(0.5)


def test_prefill_and_decode_and_what_lies_outside_the_steps(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        # of the warm-up
        kernel(GEMM, 0, 1000),
        step("execute_context_2(512)_generation_0(0)", 2000, 100),
        kernel(GEMM, 2000, 90),
        kernel(ATTENTION, 2090, 10),
        step("execute_context_0(0)_generation_8(8)", 2200, 50),
        kernel(GEMM, 2200, 10),
        kernel(ATTENTION, 2210, 40),
        kernel(NORM, 9000, 1000),
    ]
    profile = profile_of_trace(write_trace(tmp_path / "a.json", events))
    prefill, decode = profile.phases
    assert (prefill.phase, decode.phase) == ("prefill", "decode")
    assert prefill.share_ratio == pytest.approx(100 / 150)
    assert [s.share_ratio for s in prefill.shares] == pytest.approx([0.9, 0.1])
    assert decode.shares[0].category == "attention"
    assert shares(profile) == pytest.approx({"gemm": 100 / 150, "attention": 50 / 150})
    assert profile.window_s == pytest.approx(250e-6)


def test_a_folder_of_ranks_gives_medians(tmp_path: Path) -> None:
    """A rank that waits in a collective does not decide."""
    for rank, waited_us in enumerate((20, 20, 500)):
        events = [kernel(GEMM, 0, 80, device=rank), kernel(REDUCE, 80, waited_us, device=rank)]
        write_trace(tmp_path / f"rank{rank}.pt.trace.json.gz", events)
    # the front writes a trace too
    write_trace(tmp_path / "front.pt.trace.json.gz", [operator("aten::empty", 0, 1e6)])
    profile = profile_of_trace(tmp_path)
    assert shares(profile) == pytest.approx({"gemm": 0.8, "comm": 0.2})
    assert profile.num_ranks == 3
    assert profile.kernels[0].name == REDUCE
    assert profile.kernels[0].num_calls == 3


def test_operators_count_without_their_children(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        # the order of the file is not that of time
        operator("aten::addmm", 10, 60),
        operator("aten::linear", 0, 80),
        operator("aten::empty", 10, 5),
        operator("aten::mul", 80, 20),
        operator("aten::mul", 120, 80, thread=2),
        {"ph": "X", "cat": "python_function", "name": "forward", "ts": 0, "dur": 999, "pid": 5},
    ]
    profile = profile_of_trace(write_trace(tmp_path / "cpu.json", events))
    assert profile.source == "torch profiler, processor operators"
    assert shares(profile) == pytest.approx(
        {"gemm": 75 / 180, "norm_act_elementwise": 100 / 180, "other": 5 / 180}
    )
    assert profile.idle_ratio == pytest.approx(20 / 200)
    assert profile.num_streams == 2
    calls = {named.name: named.num_calls for named in profile.kernels}
    assert calls == {"aten::mul": 2, "aten::addmm": 1, "aten::linear": 1, "aten::empty": 1}


def test_a_real_trace_of_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415 - torch is optional

    left = torch.ones(192, 192)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(5):
            torch.softmax(left @ left + 1.0, -1).argmax()
    profiler.export_chrome_trace(str(tmp_path / "real.json"))
    found = profile_of_trace(tmp_path / "real.json")
    calls = {named.name: named.num_calls for named in found.kernels}
    assert calls["aten::mm"] == 5
    assert calls["aten::argmax"] == 5
    assert {"gemm", "sampling", "norm_act_elementwise"} <= set(shares(found))
    assert sum(shares(found).values()) == pytest.approx(1.0)


def test_events_with_missing_and_unknown_fields_are_skipped(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"ph": "X", "cat": "kernel", "name": GEMM, "ts": 5},
        {"ph": "X", "cat": "kernel", "name": GEMM, "ts": "?", "dur": None},
        {"cat": "kernel"},
        {"ph": "X", "cat": "kernel", "name": GEMM, "ts": 0, "dur": 5, "args": None, "new": [1]},
    ]
    profile = profile_of_trace(write_trace(tmp_path / "a.json", events, unknown={"a": [1]}))
    assert profile.kernels[0].num_calls == 1


def test_a_trace_larger_than_what_is_held(tmp_path: Path) -> None:
    """Events lie across the pieces that are read, and a piece may hold no event at all."""
    events: list[dict[str, Any]] = [
        {**kernel(GEMM, index * 10.0, 10.0), "padding": 'x"\\,{[' * 100} for index in range(12_000)
    ]
    path = write_trace(tmp_path / "a.json", events, distributedInfo="y" * 9_000_000)
    assert path.stat().st_size > 16e6
    profile = profile_of_trace(path)
    assert profile.kernels[0].num_calls == 12_000
    assert profile.window_s == pytest.approx(0.12)


def test_a_plain_array_of_events(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("\n" + json.dumps([kernel(GEMM, 0, 10)]))
    assert profile_of_trace(path).window_s == pytest.approx(1e-5)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
@pytest.mark.parametrize("part", [0.02, 0.5, 0.97])
def test_a_truncated_file_is_one_clear_line(tmp_path: Path, name: str, part: float) -> None:
    path = write_trace(tmp_path / name, [kernel(GEMM, 0, 10)] * 200)
    data = path.read_bytes()
    path.write_bytes(data[: max(int(len(data) * part), 12)])
    with pytest.raises(InvalidInputError, match=r"a\.json.* truncated; wait until") as caught:
        profile_of_trace(path)
    assert "\n" not in str(caught.value)


def test_other_files_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="holds no trace"):
        profile_of_trace(tmp_path)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        profile_of_trace(tmp_path / "missing.json")
    empty = write_trace(tmp_path / "empty.json", [])
    with pytest.raises(InvalidInputError, match="neither kernels nor operators"):
        profile_of_trace(empty)
    broken = tmp_path / "broken.json"
    broken.write_text('{"traceEvents": [{"ph": oops' + " " * 20_000_000 + "}]}")
    with pytest.raises(InvalidInputError, match="is no JSON"):
        profile_of_trace(broken)
