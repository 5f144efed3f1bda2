"""Numbers with units as vendor tools print them: 7, "7 W", "(7Mhz)", {"value": 7, "unit": "W"}."""

import math
import re

# amd-smi writes MB and means MiB: 196592 MB of a device with 192 GiB
_BYTES = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_NOTHING = {"N/A", "NOT SUPPORTED", "UNKNOWN ERROR", "ERR!", "NONE"}
_MAX_BYTES = 2**60
_MAX_CHARS = 200
_TEXT = re.compile(r"\(?\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([^\d\s()]*)\s*\)?")


def number_of(leaf: object, unit: str = "") -> float | None:
    """Return a number; None for N/A, for what is no number, and for another unit.

    Args:
        leaf: what the tool printed.
        unit: unit that the number must have when it has one at all.
    """
    value, found = _split(leaf)
    return value if value is not None and found.upper() in {"", unit.upper()} else None


def integer_of(leaf: object, unit: str = "") -> int | None:
    """Return a number without its fraction, None as in `number_of`."""
    value = number_of(leaf, unit)
    return int(value) if value is not None else None


def bytes_of(leaf: object, unit: str = "") -> int | None:
    """Return an amount of memory in bytes.

    Args:
        leaf: what the tool printed.
        unit: unit of a bare number; without one a bare number has no meaning.
    """
    value, found = _split(leaf)
    scale = _BYTES.get((found or unit).upper())
    if value is None or scale is None or not 0 <= value * scale < _MAX_BYTES:
        return None
    return int(value * scale)


def text_of(leaf: object) -> str:
    """Return a text, empty for N/A and for what is neither text nor number."""
    text = str(leaf).strip() if isinstance(leaf, str | int) and not isinstance(leaf, bool) else ""
    if text.strip("[]").upper() in _NOTHING:
        return ""
    # an event holds no lone surrogate, JSON's escapes may
    return text.encode("utf-8", errors="replace").decode("utf-8")[:_MAX_CHARS]


def _split(leaf: object) -> tuple[float | None, str]:
    if isinstance(leaf, dict):
        value, _ = _split(leaf.get("value"))
        return value, text_of(leaf.get("unit"))
    if isinstance(leaf, bool):
        return None, ""
    if isinstance(leaf, int | float):
        # float() of an integer with thousands of digits overflows
        value = float(leaf) if abs(leaf) < 1e300 else math.inf
        return (value if math.isfinite(value) else None), ""
    match = _TEXT.fullmatch(leaf.strip()) if isinstance(leaf, str) else None
    if match is None or not math.isfinite(float(match[1])):
        return None, ""
    return float(match[1]), match[2]
