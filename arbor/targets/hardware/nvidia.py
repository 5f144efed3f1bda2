"""NVIDIA devices by `nvidia-smi --query-gpu` (seen on an H200, driver 580.159.04)."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from arbor.events.types import Accelerator, NotObserved
from arbor.targets.hardware.found import Found, gaps_of
from arbor.targets.hardware.quantity import bytes_of, integer_of, number_of, text_of
from arbor.targets.hardware.reading import Reading, Readings
from arbor.targets.hardware.tool import ask, is_installed

_TOOL = "nvidia-smi"
_SAMPLE_LIMIT_S = 5.0
_STATIC = ("index", "name", "uuid", "compute_cap", "driver_version", "memory.total")
_PARTITION = "mig.mode.current"
_THROTTLE_COUNTERS = tuple(
    f"clocks_event_reasons_counters.{reason}"
    for reason in (
        "sw_power_cap",
        "sw_thermal_slowdown",
        "hw_thermal_slowdown",
        "hw_power_brake_slowdown",
    )
)
_SENSORS = (
    "index",
    "clocks.sm",
    "power.draw.instant",
    "power.draw.average",
    # the first before Ampere, the second since; older drivers know only this name
    "power.draw",
    "temperature.gpu",
    "memory.used",
    "clocks_event_reasons.active",
    # the same under the name that older drivers know
    "clocks_throttle_reasons.active",
    *_THROTTLE_COUNTERS,
)
# power cap, slowdown, heat (software, hardware), power brake; not idle, set clocks, sync boost
_THROTTLE_BITS = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
_REFUSED = re.compile(r'Field "([^"]+)" is not a valid field')
_CUDA = re.compile(r"CUDA Version\s*:\s*([\d.]+)")

Row = Mapping[str, str]


def find_nvidia(dev_folder: Path = Path("/dev")) -> Found:
    """Return the NVIDIA devices, and what could not be observed about them.

    Args:
        dev_folder: where the driver puts its device files.
    """
    num_present = len(list(dev_folder.glob("nvidia[0-9]*")))
    if not num_present and not is_installed(_TOOL):
        return Found()
    rows, problem = Query((*_STATIC, _PARTITION)).rows()
    if problem:
        gap = NotObserved(what="NVIDIA devices", reason=problem)
        return Found(num_present=num_present, not_observed=(gap,))
    devices = tuple(_accelerator(row, number) for number, row in enumerate(rows))
    cuda = _CUDA.search(ask(_TOOL).text)
    gaps = gaps_of(_TOOL, devices)
    if cuda is None:
        gap = NotObserved(what="CUDA version", reason=f"{_TOOL} does not tell")
        gaps = (*gaps, gap)
    return Found(
        devices=devices,
        num_present=num_present,
        driver_version=next((text_of(row.get("driver_version")) for row in rows), ""),
        runtime_version=f"CUDA {cuda[1]}" if cuda else "",
        not_observed=gaps,
    )


class NvidiaReader:
    """Reads the sensors; asks only for what this driver knows."""

    def __init__(self) -> None:
        self._query = Query(_SENSORS, limit_s=_SAMPLE_LIMIT_S)

    def __call__(self) -> Readings:
        """Look once."""
        rows, problem = self._query.rows()
        return Readings(tuple(_reading(row, n) for n, row in enumerate(rows)), problem)


class Query:
    """A query that drops the fields that this version of the tool refuses.

    Args:
        fields: names of the fields; the first must be ``index``.
        limit_s: seconds that one run may take.
    """

    def __init__(self, fields: Sequence[str], limit_s: float = 10.0) -> None:
        self._fields = list(fields)
        self._limit_s = limit_s

    def rows(self) -> tuple[Sequence[Row], str]:
        """Return one row per device by field, and why there is none."""
        while self._fields:
            fields = ",".join(self._fields)
            printed = ask(_TOOL, f"--query-gpu={fields}", "--format=csv", limit_s=self._limit_s)
            refused = _REFUSED.search(f"{printed.text}\n{printed.problem}")
            if refused is not None and refused[1] in self._fields:
                self._fields.remove(refused[1])
                continue
            if printed.problem:
                return (), printed.problem
            return parse_rows(printed.text, self._fields)
        return (), f"{_TOOL} knows none of the fields"


def parse_rows(text: str, fields: Sequence[str]) -> tuple[Sequence[Row], str]:
    """Return the rows of a query's table by field, and why it cannot be read.

    Args:
        text: the table, with its head.
        fields: the fields that were asked for; the head names some of them differently.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    table = [[cell.strip() for cell in line.split(",")] for line in lines]
    if not table or table[0][0] != "index":
        return (), f"{_TOOL} prints no table: {text.strip()[:80]!a}"
    if any(len(row) != len(fields) for row in table):
        return (), f"{_TOOL} prints rows that have not {len(fields)} fields"
    return [dict(zip(fields, row, strict=True)) for row in table[1:]], ""


def _accelerator(row: Row, number: int) -> Accelerator:
    capability = text_of(row.get("compute_cap"))
    index = integer_of(row.get("index"))
    return Accelerator(
        index=index if index is not None and index >= 0 else number,
        name=text_of(row.get("name")) or "unknown NVIDIA device",
        architecture=f"sm_{capability.replace('.', '')}" if capability else "",
        memory_bytes=bytes_of(row.get("memory.total")),
        uuid=text_of(row.get("uuid")),
        partition="MIG" if row.get(_PARTITION) == "Enabled" else "",
    )


def _reading(row: Row, number: int) -> Reading:
    index = integer_of(row.get("index"))
    clock_mhz = number_of(row.get("clocks.sm"), "MHz")
    power_w = number_of(row.get("power.draw.instant"), "W")
    counters = [number_of(row.get(name), "us") for name in _THROTTLE_COUNTERS]
    known = [counter for counter in counters if counter is not None]
    return Reading(
        index=index if index is not None else number,
        clock_mhz=clock_mhz,
        clock_mhz_min=clock_mhz,
        power_w=power_w if power_w is not None else number_of(row.get("power.draw"), "W"),
        power_last_second_w=number_of(row.get("power.draw.average"), "W"),
        temperature_c=number_of(row.get("temperature.gpu"), "C"),
        memory_used_bytes=bytes_of(row.get("memory.used")),
        is_throttled=_is_throttled(row),
        throttled=sum(known) if known else None,
    )


def _is_throttled(row: Row) -> bool | None:
    names = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
    bits = next((text_of(row[name]) for name in names if name in row), "")
    try:
        return bool(int(bits, 16) & _THROTTLE_BITS)
    except ValueError:
        return None
