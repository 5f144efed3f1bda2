"""nvidia-smi: what an H200 printed, older drivers, refusals and garbage."""

from pathlib import Path

import pytest

from arbor.targets.hardware.nvidia import NvidiaReader, Query, find_nvidia, parse_rows
from tests.fakes.vendor_tools import VendorTools

DATA = Path(__file__).with_name("data")


@pytest.fixture(name="tools")
def _tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VendorTools:
    monkeypatch.setenv("PATH", str(tmp_path))
    return VendorTools(tmp_path)


def test_an_h200(tools: VendorTools) -> None:
    files = {"--query-gpu=*": "nvidia_smi_static.csv", '""': "nvidia_smi.txt"}
    tools.answers("nvidia-smi", {key: DATA / name for key, name in files.items()})
    found = find_nvidia(tools.folder)
    [device] = found.devices
    assert (device.index, device.name, device.architecture) == (0, "NVIDIA H200", "sm_90")
    assert device.memory_bytes == 143771 * 2**20
    assert device.uuid.startswith("GPU-")
    assert device.partition == ""
    assert (found.driver_version, found.runtime_version) == ("580.159.04", "CUDA 13.0")
    assert (found.num_devices, found.not_observed) == (1, ())


def test_no_device_and_no_tool_is_no_gap(tools: VendorTools) -> None:
    found = find_nvidia(tools.folder)
    assert (found.num_devices, found.not_observed) == (0, ())


def test_devices_without_a_tool_are_counted(tools: VendorTools) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tools.folder / name).touch()
    found = find_nvidia(tools.folder)
    assert (found.devices, found.num_devices) == ((), 2)
    assert [gap.reason for gap in found.not_observed] == ["nvidia-smi is not installed"]


@pytest.mark.parametrize(
    ("text", "exit_code", "reason"),
    [
        ("No devices were found\n", 6, "ended with exit code 6: No devices were found"),
        ("\x00\x01,,,\n" * 50, 0, "prints no table"),
        ("", 0, "prints no table"),
        ("index, name\n0, NVIDIA H200\n", 0, "prints rows that have not 7 fields"),
    ],
)
def test_failures_are_gaps(tools: VendorTools, text: str, exit_code: int, reason: str) -> None:
    tools.prints("nvidia-smi", text, exit_code)
    found = find_nvidia(tools.folder)
    assert found.devices == ()
    [gap] = found.not_observed
    assert gap.what == "NVIDIA devices"
    assert reason in gap.reason


def test_a_hang_is_a_problem(tools: VendorTools) -> None:
    tools.hangs("nvidia-smi")
    rows, problem = Query(("index", "name"), limit_s=0.3).rows()
    assert (rows, problem) == ((), "nvidia-smi did not answer within 0.3 s")


def test_refused_fields_are_dropped(tools: VendorTools) -> None:
    refusal = 'Field \\"power.draw.instant\\" is not a valid field to query.'
    row = "0, 1470 MHz, 692.2 W, 689.9 W, 61, 883 MiB, 0x4, 0x4, 5 us, 0 us, 0 us, [N/A]"
    tools.runs(
        "nvidia-smi",
        f'case "$1" in *power.draw.instant*) echo "{refusal}"; exit 2 ;; esac\n'
        f'echo "index, b, c, d, e, f, g, h, i, j, k, l"\necho "{row}"',
    )
    reader = NvidiaReader()
    for _ in range(2):
        [reading] = reader().devices
        assert (reading.clock_mhz, reading.power_w, reading.temperature_c) == (1470.0, 689.9, 61.0)
        assert reading.power_last_second_w == 692.2
        assert (reading.is_throttled, reading.throttled) == (True, 5.0)
        assert reading.memory_used_bytes == 883 * 2**20


def test_a_tool_that_refuses_everything(tools: VendorTools) -> None:
    tools.runs(
        "nvidia-smi",
        'field="${1#--query-gpu=}"; field="${field%%,*}"\n'
        'echo "Field \\"$field\\" is not a valid field to query."; exit 2',
    )
    assert NvidiaReader()().problem == "nvidia-smi knows none of the fields"


def test_cells_without_a_value(tools: VendorTools) -> None:
    head = "index, name, uuid, compute_cap, driver_version, memory.total [MiB], mig.mode.current"
    tools.prints("nvidia-smi", f"{head}\n0, Tesla M60, [N/A], [N/A], 470.1, ERR!, [N/A]\n")
    found = find_nvidia(tools.folder)
    [device] = found.devices
    assert (device.architecture, device.memory_bytes, device.uuid) == ("", None, "")
    whats = [gap.what for gap in found.not_observed]
    assert whats == [f"{what} of device 0" for what in ("architecture", "memory", "uuid")] + [
        "CUDA version"
    ]


def test_rows_are_named_by_what_was_asked() -> None:
    text = "index, clocks.current.sm [MHz]\n0, 375 MHz\n"
    rows, problem = parse_rows(text, ("index", "clocks.sm"))
    assert (list(rows), problem) == ([{"index": "0", "clocks.sm": "375 MHz"}], "")
