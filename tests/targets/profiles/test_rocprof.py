"""Files of rocprofv3: traces of both column sets, copies, statistics, JSON, and broken ones."""

import json
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError
from arbor.events.types import Profile
from arbor.targets.profiles import profile_of_rocprof

# ROCm 7 and 6.2, with the columns that matter here and some that do not
HEAD_7 = (
    "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,"
    "Correlation_Id,Start_Timestamp,End_Timestamp,LDS_Block_Size\n"
)
ROW_7 = '"KERNEL_DISPATCH","Agent {agent}",1,{stream},1,1,1,"{name}",1,{start},{end},0\n'
HEAD_6 = (
    '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","Private_Segment_Size"\n'
)
ROW_6 = '"KERNEL_DISPATCH",{agent},{stream},1,"{name}",1,{start},{end},0\n'
COPIES = (
    "Kind,Stream_Id,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,"
    "Start_Timestamp,End_Timestamp\n"
    "MEMORY_COPY,1,MEMORY_COPY_HOST_TO_DEVICE,Agent 0,Agent 4,1,{start},{end}\n"
    "MEMORY_COPY,1,MEMORY_COPY_DEVICE_TO_HOST,Agent 4,Agent 0,1,{end},{last}\n"
    "MEMORY_COPY,1,MEMORY_COPY_HOST_TO_HOST,Agent 0,Agent 0,1,{end},{last}\n"
)
# nanoseconds since the machine's start, some weeks ago
BASE = 2_345_678_901_234_567
GEMM = "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x224x64"
ATTENTION = "void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, 64, false>"


def rows(template: str, *kernels: tuple[str, int, int], agent: int = 4) -> str:
    return "".join(
        template.format(name=name, start=BASE + start, end=BASE + end, agent=agent, stream=stream)
        for stream, (name, start, end) in enumerate(kernels)
    )


def shares(profile: Profile) -> dict[str, float]:
    return {share.category: share.share_ratio for share in profile.shares}


@pytest.mark.parametrize(("head", "row"), [(HEAD_7, ROW_7), (HEAD_6, ROW_6)])
def test_a_kernel_trace(tmp_path: Path, head: str, row: str) -> None:
    path = tmp_path / "x_kernel_trace.csv"
    path.write_text(head + rows(row, (GEMM, 0, 600), (ATTENTION, 800, 1000)))
    for given in (path, tmp_path):
        profile = profile_of_rocprof(given)
        assert shares(profile) == pytest.approx({"gemm": 0.75, "attention": 0.25})
        assert profile.window_s == pytest.approx(1e-6)
        assert profile.idle_ratio == pytest.approx(0.2)
        assert profile.num_streams == 2
        assert profile.source == "rocprofv3, kernel trace"


def test_copies_count_for_the_device_that_they_reach_or_leave(tmp_path: Path) -> None:
    (tmp_path / "x_kernel_trace.csv").write_text(HEAD_7 + rows(ROW_7, (GEMM, 0, 500)))
    (tmp_path / "x_memory_copy_trace.csv").write_text(
        COPIES.format(start=BASE + 500, end=BASE + 700, last=BASE + 1000)
    )
    profile = profile_of_rocprof(tmp_path)
    assert shares(profile) == pytest.approx({"gemm": 0.5, "memcpy": 0.5})
    assert profile.idle_ratio == pytest.approx(0.0)


def test_processes_in_folders_of_their_own_are_ranks(tmp_path: Path) -> None:
    for process in (11, 12):
        (tmp_path / str(process)).mkdir()
        (tmp_path / str(process) / "x_kernel_trace.csv").write_text(
            HEAD_7 + rows(ROW_7, (GEMM, 0, 500))
        )
    assert profile_of_rocprof(tmp_path).num_ranks == 2


def test_statistics_have_shares_and_no_idle_time(tmp_path: Path) -> None:
    (tmp_path / "x_kernel_stats.csv").write_text(
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
        f'"{GEMM}",10,3000,300,75,1,9,1\n"{ATTENTION}",2,1000,500,25,1,9,1\n'
    )
    profile = profile_of_rocprof(tmp_path)
    assert shares(profile) == pytest.approx({"gemm": 0.75, "attention": 0.25})
    assert profile.idle_ratio is None
    assert profile.kernels[0].num_calls == 10


def test_json(tmp_path: Path) -> None:
    def dispatch(kernel: int, start: int, end: int) -> dict[str, object]:
        where = {"agent_id": {"handle": 9}, "queue_id": {"handle": 1}, "kernel_id": kernel}
        return {
            "dispatch_info": where,
            "start_timestamp": BASE + start,
            "end_timestamp": BASE + end,
        }

    document = {
        "rocprofiler-sdk-tool": [
            {
                "metadata": {"pid": 1},
                "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": GEMM}],
                "buffer_records": {
                    "kernel_dispatch": [dispatch(3, 0, 600), dispatch(4, 600, 800)],
                    "memory_copy": [
                        {
                            "dst_agent_id": {"handle": 9},
                            "src_agent_id": {"handle": 0},
                            "start_timestamp": BASE + 800,
                            "end_timestamp": BASE + 1000,
                        }
                    ],
                },
            }
        ]
    }
    path = tmp_path / "x_results.json"
    path.write_text(json.dumps(document))
    profile = profile_of_rocprof(path)
    assert shares(profile) == pytest.approx({"gemm": 0.6, "other": 0.2, "memcpy": 0.2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD_7, "holds no kernel"),
        (HEAD_7.replace("Kernel_Name", "Name"), "there is no column Kernel_Name"),
        (HEAD_7 + rows(ROW_7, (GEMM, 0, 9))[:-24], "line 2: it is truncated"),
        (HEAD_7 + rows(ROW_7, (GEMM, 0, 9)).replace(str(BASE), "x"), "is 'x', not a number"),
    ],
)
def test_broken_files_are_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x_kernel_trace.csv").write_text(text)
    with pytest.raises(InvalidInputError, match=message) as caught:
        profile_of_rocprof(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_files_names_the_options(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="--output-format csv"):
        profile_of_rocprof(tmp_path)
