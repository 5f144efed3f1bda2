"""Whatever the tools print, the parsers return something: no document raises."""

from hypothesis import given
from hypothesis import strategies as st

from arbor.targets.hardware import amd_smi, rocm_smi
from arbor.targets.hardware.found import gaps_of
from arbor.targets.hardware.nvidia import parse_rows

_KEYS = [
    "gpu",
    "gpu_data",
    "asic",
    "market_name",
    "target_graphics_version",
    "vram",
    "size",
    "value",
    "unit",
    "partition",
    "numa",
    "node",
    "uuid",
    "accelerator_partition",
    "memory_partition",
    "clock",
    "gfx_0",
    "clk",
    "power",
    "socket_power",
    "energy",
    "throttle_status",
    "total_energy_consumption",
    "temperature",
    "hotspot",
    "mem_usage",
    "used_vram",
    "throttle",
    "ppt_accumulated",
    "ppt_violation_status",
    "card0",
    "system",
]
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["N/A", "7 W", "MB", "W", "gfx942", "ACTIVE", "-1"])
)
_DOCUMENTS = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=6)
    ),
    max_leaves=30,
)


@given(_DOCUMENTS)
def test_amd_smi(document: object) -> None:
    entries = amd_smi.entries_of(document)
    for entry in entries:
        device = amd_smi.accelerator(entry, entry)
        assert device.name
        assert len(gaps_of("amd-smi", (device,))) <= 3
        reading = amd_smi.reading(entry)
        assert reading.memory_used_bytes is None or reading.memory_used_bytes >= 0


@given(
    st.dictionaries(
        st.sampled_from(["card0", "card1", "cardx", "system"]),
        st.dictionaries(
            st.sampled_from(["Card Series", "GFX Version", "VRAM Total Memory (B)", "Unique ID"]),
            _DOCUMENTS,
        ),
    )
)
def test_rocm_smi(cards: dict[str, dict[str, object]]) -> None:
    devices = rocm_smi.accelerators(cards)
    assert len(devices) == len({"card0", "card1"} & set(cards))
    assert isinstance(rocm_smi.driver_version(cards), str)


@given(st.text() | st.text(alphabet="index,0 \n").map("index,".__add__))
def test_nvidia_smi(text: str) -> None:
    rows, problem = parse_rows(text, ("index", "name"))
    assert not (rows and problem)
