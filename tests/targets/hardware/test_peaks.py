"""Peaks by name; forms of a device with another name are not guessed."""

import pytest

from arbor.events.types import Accelerator
from arbor.targets.hardware.peaks import peaks_of


@pytest.mark.parametrize(
    ("name", "architecture", "bf16", "memory"),
    [
        ("AMD Instinct MI300X", "gfx942", 1307.4e12, 5.3e12),
        ("AMD Instinct MI325X", "gfx942", 1307.4e12, 6.0e12),
        ("AMD Instinct MI355X", "", 2516.6e12, 8.0e12),
        ("NVIDIA H100 80GB HBM3", "sm_90", 989.4e12, 3.35e12),
        ("NVIDIA H200", "sm_90", 989.4e12, 4.8e12),
        ("NVIDIA B200", "sm_100", 2250e12, 7.7e12),
    ],
)
def test_known(name: str, architecture: str, bf16: float, memory: float) -> None:
    peaks = peaks_of(Accelerator(index=0, name=name, architecture=architecture))
    assert peaks is not None
    assert peaks.flop_per_s["bf16"] == pytest.approx(bf16)
    assert peaks.memory_bytes_per_s == pytest.approx(memory)
    assert all(source.startswith("https://") for source in peaks.sources)


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("NVIDIA H200 NVL", "sm_90"),
        ("NVIDIA H100 PCIe", "sm_90"),
        ("AMD Instinct MI300X HF", "gfx942"),
        ("AMD Instinct MI300X", "gfx950"),
        ("", ""),
    ],
)
def test_unknown(name: str, architecture: str) -> None:
    assert peaks_of(Accelerator(index=0, name=name, architecture=architecture)) is None
