"""Percentiles of small samples."""

from collections.abc import Sequence


def percentiles(values: Sequence[float], levels: Sequence[float]) -> tuple[float, ...]:
    """Return percentiles by linear interpolation."""
    ordered = sorted(values)
    found = []
    for level in levels:
        place = level * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        found.append(ordered[low] + (place - low) * (ordered[high] - ordered[low]))
    return tuple(found)


def median(values: Sequence[float]) -> float:
    """Return the middle of some values."""
    return percentiles(values, (0.5,))[0]
