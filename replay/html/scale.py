"""Axes: where a value lies on a picture, and which ticks to draw."""

import math
from dataclasses import dataclass

_FINE = (
    *(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8),
    *(2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0),
)
_COARSE = (0.25, 0.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_WIDE_RATIO = 8.0
_TICK_DISTANCE = 36.0
"""Pixels between labels."""


@dataclass(frozen=True, slots=True)
class LogScale:
    """A logarithmic axis from ``low`` to ``high`` over pixels ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value; values beyond the axis stay on its edge."""
        bounded = min(self.high, max(self.low, value))
        share = math.log(bounded / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return round values to label, far enough from each other; 1 is always among them."""
        steps = _COARSE if self.high / self.low > _WIDE_RATIO else _FINE
        found: list[float] = [1.0] if self.low <= 1.0 <= self.high else []
        for step in steps:
            is_apart = all(abs(self.at(step) - self.at(x)) >= _TICK_DISTANCE for x in found)
            if self.low <= step <= self.high and is_apart:
                found.append(step)
        return sorted(found)


def round_up(value: float) -> float:
    """Return a round number at or above a positive value, for the top of an axis."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        step * power
        for step in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
        if step * power >= value
    )
