"""The whole probe: this machine, and one with fake tools."""

from pathlib import Path

import pytest

from arbor.events.types import Hardware
from arbor.targets.hardware import num_usable_cores, probe_hardware, usable_cores
from tests.fakes.vendor_tools import VendorTools

DATA = Path(__file__).with_name("data")


def test_this_machine() -> None:
    found = probe_hardware()
    assert found.num_cores == num_usable_cores() == len(usable_cores())
    assert found.device_name
    assert found.memory_bytes > 0
    assert Hardware.model_validate_json(found.model_dump_json()) == found


def test_an_accelerated_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = VendorTools(tmp_path)
    tools.answers("nvidia-smi", {"--query-gpu=*": DATA / "nvidia_smi_static.csv"})
    found = probe_hardware()
    assert (found.kind, found.num_devices, found.devices[0].name) == ("nvidia", 1, "NVIDIA H200")
    assert found.driver_version == "580.159.04"
    assert [gap.what for gap in found.not_observed] == ["CUDA version"]


def test_logs_from_before_these_fields_are_read() -> None:
    fields = '"kind":"cpu","device_name":"x","num_cores":2,"memory_bytes":1,"num_devices":0'
    assert Hardware.model_validate_json(f'{{"host":"h",{fields}}}').devices == ()
