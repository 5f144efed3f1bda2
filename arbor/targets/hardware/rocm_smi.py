"""AMD devices by the older `rocm-smi --json`; from documentation, not seen on hardware."""

from collections.abc import Mapping
from pathlib import Path

from arbor.events.types import Accelerator
from arbor.targets.hardware.quantity import bytes_of, number_of, text_of
from arbor.targets.hardware.reading import Reading, Readings
from arbor.targets.hardware.tool import LIMIT_S, ask, read_json

TOOL = "rocm-smi"
_SAMPLE_LIMIT_S = 5.0
STATIC = (
    "--showproductname",
    "--showuniqueid",
    "--showmeminfo",
    "vram",
    "--showdriverversion",
    "--showcomputepartition",
    "--showmemorypartition",
    "--json",
)
_METRIC = (
    "--showclocks",
    "--showpower",
    "--showtemp",
    "--showenergycounter",
    "--showmeminfo",
    "vram",
    "--json",
)
_VERSION_FILE = Path("/opt/rocm/.info/version")

Card = Mapping[str, object]


def query(*arguments: str, limit_s: float = LIMIT_S) -> tuple[Mapping[str, Card], str]:
    """Run the tool and return its cards and ``system`` by name, and why there is none.

    Args:
        arguments: the tool's arguments, with ``--json``.
        limit_s: seconds that it may take.
    """
    printed = ask(TOOL, *arguments, limit_s=limit_s)
    if printed.problem:
        return {}, printed.problem
    try:
        document = read_json(printed.text)
    except ValueError as error:
        return {}, f"{TOOL} prints {error}"
    parts = document.items() if isinstance(document, dict) else ()
    found = {name: card for name, card in parts if isinstance(card, dict)}
    is_known = any(_number(name) is not None for name in found)
    return found, "" if is_known else f"{TOOL} prints a format that is not known"


def accelerators(found: Mapping[str, Card]) -> tuple[Accelerator, ...]:
    """Return the devices of a static query; all values of this tool are strings."""
    devices = []
    for number, card in _cards(found):
        # ROCm 5 writes "Card series"
        name = text_of(card.get("Card Series", card.get("Card series")))
        modes = (text_of(card.get(f"{part} Partition")) for part in ("Compute", "Memory"))
        devices.append(
            Accelerator(
                index=number,
                name=name or text_of(card.get("Card Model")) or "unknown AMD device",
                architecture=text_of(card.get("GFX Version")),
                memory_bytes=bytes_of(card.get("VRAM Total Memory (B)"), "B"),
                uuid=text_of(card.get("Unique ID")),
                partition="/".join(mode for mode in modes if mode),
            )
        )
    return tuple(devices)


def driver_version(found: Mapping[str, Card]) -> str:
    """Return the version of the kernel driver."""
    return text_of(found.get("system", {}).get("Driver version"))


def rocm_version(version_file: Path = _VERSION_FILE) -> str:
    """Return the version of ROCm, which this tool does not print; empty without the file."""
    try:
        return version_file.read_text(encoding="ascii").strip()[:40]
    except (OSError, UnicodeDecodeError):
        return ""


class RocmSmiReader:
    """Reads the sensors; this tool tells nothing about throttling."""

    def __call__(self) -> Readings:
        """Look once."""
        found, problem = query(*_METRIC, limit_s=_SAMPLE_LIMIT_S)
        return Readings(tuple(_reading(number, card) for number, card in _cards(found)), problem)


def _reading(number: int, card: Card) -> Reading:
    sensors = ("junction", "edge")
    heat = [number_of(card.get(f"Temperature (Sensor {sensor}) (C)")) for sensor in sensors]
    power_names = ("Current Socket", "Average")
    powers = [number_of(card.get(f"{name} Graphics Package Power (W)")) for name in power_names]
    clock_mhz = number_of(card.get("sclk clock speed:"), "MHz")
    energy_uj = number_of(card.get("Accumulated Energy (uJ)"))
    return Reading(
        index=number,
        clock_mhz=clock_mhz,
        clock_mhz_min=clock_mhz,
        power_w=next((power for power in powers if power is not None), None),
        energy_j=energy_uj / 1e6 if energy_uj else None,
        temperature_c=next((value for value in heat if value is not None), None),
        memory_used_bytes=bytes_of(card.get("VRAM Total Used Memory (B)"), "B"),
    )


def _cards(found: Mapping[str, Card]) -> list[tuple[int, Card]]:
    numbered = ((_number(name), card) for name, card in found.items())
    return sorted(
        ((number, card) for number, card in numbered if number is not None),
        key=lambda pair: pair[0],
    )


def _number(name: str) -> int | None:
    digits = name.removeprefix("card")
    is_card = name.startswith("card") and digits.isascii() and digits.isdigit()
    return int(digits) if is_card and len(digits) < 6 else None
