"""What accelerators can do at most, by name; the figures and their sources are in peaks.yaml."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from arbor.events.types import Accelerator

_FILE = Path(__file__).with_name("peaks.yaml")


@dataclass(frozen=True, slots=True)
class Peaks:
    """Peaks of a whole device.

    Attributes:
        device: name of the device.
        flop_per_s: dense matrix FLOP/s by format; formats without native support are missing.
        memory_bytes_per_s: memory bandwidth.
        sources: where the figures come from.
    """

    device: str
    flop_per_s: Mapping[str, float]
    memory_bytes_per_s: float
    sources: tuple[str, ...]


def peaks_of(accelerator: Accelerator) -> Peaks | None:
    """Return a device's peaks; None for one that the file does not know.

    Name and architecture must both agree. A partition's peaks are a share of these.

    Args:
        accelerator: the device as its tool describes it.
    """
    for entry in _document()["devices"]:
        is_named = re.fullmatch(entry["name_pattern"], accelerator.name, re.IGNORECASE)
        if is_named and accelerator.architecture in {"", entry["architecture"]}:
            return _peaks(entry)
    return None


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return document


def _peaks(entry: Mapping[str, Any]) -> Peaks:
    urls = _document()["sources"]
    return Peaks(
        device=entry["device"],
        flop_per_s={name: 1e12 * peak for name, peak in entry["dense_tflop_per_s"].items()},
        memory_bytes_per_s=1e12 * entry["memory_tb_per_s"],
        sources=tuple(urls[source] for source in entry["sources"]),
    )
