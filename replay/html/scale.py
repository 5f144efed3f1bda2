"""Axes: where a value lies on a picture, and which ticks to draw."""

import math
from dataclasses import dataclass


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
        """Return round values to label, a handful of them."""
        steps = (
            (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
            if self.high / self.low > 4.0
            else (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)
        )
        found = [step for step in steps if self.low <= step <= self.high]
        while len(found) > 9:
            found = [step for step in found if step == 1.0 or found.index(step) % 2 == 0]
        return found


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
