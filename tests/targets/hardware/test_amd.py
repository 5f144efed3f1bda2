"""amd-smi, rocm-smi and the kernel's files, in the documented formats."""

from pathlib import Path

import pytest

from arbor.targets.hardware.amd import amd_reader, find_amd
from arbor.targets.hardware.amd_smi import query
from tests.fakes.vendor_tools import VendorTools

DATA = Path(__file__).with_name("data")


@pytest.fixture(name="tools")
def _tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VendorTools:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return VendorTools(folder)


@pytest.fixture(name="topology")
def _topology(tmp_path: Path) -> Path:
    """Return the files of a machine with a processor, an MI300X and an MI355X."""
    folder = tmp_path / "nodes"
    for number, (simds, version) in enumerate(((0, 0), (0, 0), (1216, 90402), (1024, 90500))):
        node = folder / str(number)
        node.mkdir(parents=True)
        dies = 8 if simds else 0
        text = f"simd_count {simds}\ngfx_target_version {version}\nnum_xcc {dies}\n"
        (node / "properties").write_text(text)
    return folder


def _amd_smi(tools: VendorTools, **files: str) -> None:
    tools.answers("amd-smi", {name: DATA / file for name, file in files.items()})


def test_amd_smi(tools: VendorTools, topology: Path) -> None:
    _amd_smi(
        tools,
        static="amd_smi_static.json",
        list="amd_smi_list.json",
        version="amd_smi_version.json",
    )
    found = find_amd(topology)
    assert [device.index for device in found.devices] == [0, 1]
    first = found.devices[0]
    assert (first.name, first.architecture) == ("AMD Instinct MI300X", "gfx942")
    assert first.memory_bytes == 196592 * 2**20
    assert (first.partition, first.num_compute_dies, first.numa_node) == ("SPX/NPS1", 8, 0)
    assert first.uuid.startswith("00ff74a1")
    assert (found.driver_version, found.runtime_version) == ("6.16.6", "ROCm 7.0.2")
    assert found.not_observed == ()


def test_older_amd_smi_without_list_and_version(tools: VendorTools, tmp_path: Path) -> None:
    _amd_smi(tools, static="amd_smi_static_rocm6.json")
    found = find_amd(tmp_path / "none")
    [device] = found.devices
    assert (device.partition, device.num_compute_dies) == ("CPX/NPS4", None)
    assert (found.driver_version, found.runtime_version) == ("6.12.12", "")
    whats = [gap.what for gap in found.not_observed]
    assert whats == ["UUIDs", "versions", "uuid of device 0", "number of compute dies"]


def test_rocm_smi_is_the_fallback(tools: VendorTools, topology: Path) -> None:
    tools.prints("amd-smi", "ImportError: no amdsmi\n", exit_code=1)
    tools.prints("rocm-smi", (DATA / "rocm_smi_static.txt").read_text())
    found = find_amd(topology)
    [device] = found.devices
    assert (device.name, device.architecture) == ("AMD Instinct MI300X OAM", "gfx942")
    assert (device.memory_bytes, device.partition) == (206141652992, "SPX/NPS1")
    assert found.driver_version == "6.10.5"
    assert "exit code 1: ImportError: no amdsmi" in found.not_observed[0].reason


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AMD-SMI has found no devices",
        "[]",
        '{"gpu_data": 7}',
        '{"gpu_data": [7, null, "x"]}',
        '[{"device": 0}]',
        "[" * 5000,
        '{"gpus": [{"id": 0}]}',
    ],
)
def test_garbage_and_newer_formats_are_gaps(tools: VendorTools, topology: Path, text: str) -> None:
    tools.prints("amd-smi", text)
    tools.prints("rocm-smi", text)
    found = find_amd(topology)
    assert (found.devices, found.num_devices) == ((), 2)
    assert [gap.what for gap in found.not_observed] == ["AMD devices", "AMD devices"]
    assert all("prints" in gap.reason for gap in found.not_observed)


@pytest.mark.parametrize("part", ["7", '"N/A"', "null", "[]", "{}", '{"size": {"value": "x"}}'])
def test_parts_of_another_form_are_gaps(tools: VendorTools, tmp_path: Path, part: str) -> None:
    names = ("asic", "vram", "partition", "numa", "driver")
    parts = ", ".join(f'"{name}": {part}' for name in names)
    tools.prints("amd-smi", f'[{{"gpu": 0, {parts}}}]')
    found = find_amd(tmp_path / "none")
    [device] = found.devices
    assert (device.name, device.memory_bytes) == ("unknown AMD device", None)
    assert "memory of device 0" in {gap.what for gap in found.not_observed}


def test_a_hang_is_a_problem(tools: VendorTools) -> None:
    tools.hangs("amd-smi")
    entries, problem = query("static", "--json", limit_s=0.3)
    assert (entries, problem) == ((), "amd-smi did not answer within 0.3 s")


def test_only_the_kernels_files(tools: VendorTools, topology: Path) -> None:
    found = find_amd(topology)
    assert (found.devices, found.num_devices) == ((), 2)
    assert [gap.reason for gap in found.not_observed] == ["no amd-smi and no rocm-smi"]
    assert find_amd(tools.folder).not_observed == ()


def test_sensors_of_amd_smi(tools: VendorTools) -> None:
    _amd_smi(tools, metric="amd_smi_metric.json")
    first, second = amd_reader()().devices
    assert (first.clock_mhz, first.clock_mhz_min) == (1765.0, 1730.0)
    assert (first.power_w, first.energy_j, first.temperature_c) == (740.0, 1200000.5, 71.0)
    assert first.memory_used_bytes == 180000 * 2**20
    assert (first.is_throttled, first.throttled) == (True, 5000.0)
    assert (second.index, second.is_throttled) == (1, False)


def test_sensors_that_a_radeon_lacks(tools: VendorTools) -> None:
    _amd_smi(tools, metric="amd_smi_metric_radeon.json")
    [reading] = amd_reader()().devices
    assert (reading.clock_mhz, reading.energy_j, reading.temperature_c) == (2774.0, None, 54.0)
    assert (reading.is_throttled, reading.throttled) == (True, None)


def test_a_tool_without_the_narrow_command(tools: VendorTools) -> None:
    metric = DATA / "amd_smi_metric.json"
    tools.runs(
        "amd-smi",
        f'[ "$2" = --json ] && exec /bin/cat {metric.resolve()}\necho "unrecognized" >&2; exit 2',
    )
    reader = amd_reader()
    assert [len(reader().devices) for _ in range(2)] == [2, 2]


def test_sensors_of_rocm_smi(tools: VendorTools) -> None:
    tools.prints("rocm-smi", (DATA / "rocm_smi_metric.json").read_text())
    [reading] = amd_reader()().devices
    assert (reading.clock_mhz, reading.power_w, reading.temperature_c) == (131.0, 133.0, 35.0)
    assert reading.energy_j == pytest.approx(962.8250964)
    assert reading.is_throttled is None
