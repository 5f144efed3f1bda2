"""AMD devices by `amd-smi ... --json`; the format is from documentation, not seen on hardware."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from arbor.events.types import Accelerator
from arbor.targets.hardware.quantity import bytes_of, integer_of, number_of, text_of
from arbor.targets.hardware.reading import Reading, Readings
from arbor.targets.hardware.tool import LIMIT_S, ask, read_json

TOOL = "amd-smi"
_SAMPLE_LIMIT_S = 5.0
# the first spares most of the tool's work; releases before 6.3 know no --throttle
_METRICS = (
    (
        "metric",
        "--clock",
        "--power",
        "--temperature",
        "--energy",
        "--mem-usage",
        "--throttle",
        "--json",
    ),
    ("metric", "--json"),
)
# gfx_clk_below_host_limit and low_utilization are no sign of power or heat
_THROTTLES = ("prochot", "ppt", "socket_thermal", "vr_thermal", "hbm_thermal")

Entry = Mapping[str, object]


def query(
    *arguments: str, key: str = "gpu", limit_s: float = LIMIT_S
) -> tuple[Sequence[Entry], str]:
    """Run the tool and return one entry per device, and why there is none.

    Args:
        arguments: the tool's arguments, with ``--json``.
        key: what an entry must have; anything else is another format.
        limit_s: seconds that it may take.
    """
    printed = ask(TOOL, *arguments, limit_s=limit_s)
    if printed.problem:
        return (), printed.problem
    try:
        entries = [entry for entry in entries_of(read_json(printed.text)) if key in entry]
    except ValueError as error:
        return (), f"{TOOL} {arguments[0]} prints {error}"
    return entries, "" if entries else f"{TOOL} {arguments[0]} prints a format that is not known"


def entries_of(document: object) -> Sequence[Entry]:
    """Return the devices of a document: a list, or ``gpu_data`` since ROCm 7."""
    if isinstance(document, dict):
        document = document.get("gpu_data", [document])
    entries = document if isinstance(document, list) else ()
    return [entry for entry in entries if isinstance(entry, dict)]


def accelerator(entry: Entry, listed: Entry) -> Accelerator:
    """Return a device.

    Args:
        entry: its entry of ``amd-smi static``.
        listed: its entry of ``amd-smi list``, which alone has the UUID.
    """
    asic, vram = part(entry, "asic"), part(entry, "vram")
    architecture = text_of(asic.get("target_graphics_version"))
    node = integer_of(part(entry, "numa").get("node"))
    return Accelerator(
        index=max(integer_of(entry.get("gpu")) or 0, 0),
        name=text_of(asic.get("market_name")) or "unknown AMD device",
        architecture=architecture if architecture.startswith("gfx") else "",
        memory_bytes=bytes_of(vram.get("size"), "MB"),
        uuid=text_of(listed.get("uuid")) or text_of(entry.get("uuid")),
        partition=_partition(part(entry, "partition")),
        # -1 stands for none
        numa_node=node if node is not None and node >= 0 else None,
    )


class AmdSmiReader:
    """Reads the sensors, by the narrowest command that this version of the tool knows."""

    def __init__(self) -> None:
        self._commands = list(_METRICS)

    def __call__(self) -> Readings:
        """Look once."""
        entries, problem = query(*self._commands[0], limit_s=_SAMPLE_LIMIT_S)
        if problem and "exit code" in problem and len(self._commands) > 1:
            del self._commands[0]
            return self()
        return Readings(tuple(reading(entry) for entry in entries), problem)


def reading(entry: Entry) -> Reading:
    """Return the sensors of a device from its entry of ``amd-smi metric``."""
    clocks_mhz = _compute_clocks_mhz(part(entry, "clock"))
    power, heat = part(entry, "power"), part(entry, "temperature")
    spot_c = number_of(heat.get("hotspot"), "C")
    energy_j = number_of(part(entry, "energy").get("total_energy_consumption"), "J")
    return Reading(
        index=max(integer_of(entry.get("gpu")) or 0, 0),
        clock_mhz=fmean(clocks_mhz) if clocks_mhz else None,
        clock_mhz_min=min(clocks_mhz, default=None),
        power_w=number_of(power.get("socket_power"), "W"),
        # devices without the counter give 0
        energy_j=energy_j or None,
        temperature_c=spot_c if spot_c is not None else number_of(heat.get("edge"), "C"),
        memory_used_bytes=bytes_of(part(entry, "mem_usage").get("used_vram"), "MB"),
        is_throttled=_is_throttled(power, part(entry, "throttle")),
        throttled=_throttled(part(entry, "throttle")),
    )


def part(entry: Entry, name: str) -> Entry:
    """Return a part of an entry; empty where the tool gives N/A or another form."""
    found = entry.get(name)
    return found if isinstance(found, dict) else {}


def _partition(found: Entry) -> str:
    """Return ``SPX/NPS1``; the compute mode has had two names."""
    compute = text_of(found.get("accelerator_partition", found.get("compute_partition")))
    memory = text_of(found.get("memory_partition"))
    return "/".join(mode for mode in (compute, memory) if mode)


def _compute_clocks_mhz(clocks: Entry) -> Sequence[float]:
    """Return the clocks of the dies: ``gfx_0`` to ``gfx_7`` on an MI300X in SPX."""
    found = [
        number_of(part(clocks, name).get("clk"), "MHz")
        for name in clocks
        if name.startswith("gfx_")
    ]
    return [clock_mhz for clock_mhz in found if clock_mhz is not None]


def _is_throttled(power: Entry, throttle: Entry) -> bool | None:
    states = [text_of(throttle.get(f"{name}_violation_status")).upper() for name in _THROTTLES]
    states = [state for state in states if state]
    if states:
        return "ACTIVE" in states
    status = text_of(power.get("throttle_status")).upper()
    return status == "THROTTLED" if status in {"THROTTLED", "UNTHROTTLED"} else None


def _throttled(throttle: Entry) -> float | None:
    counters = [number_of(throttle.get(f"{name}_accumulated")) for name in _THROTTLES]
    known = [counter for counter in counters if counter is not None]
    return sum(known) if known else None
