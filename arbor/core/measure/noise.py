"""What the campaign's pairs so far say about the noise of the next one."""

import math
from dataclasses import dataclass

from scipy.special import chdtri

from arbor.events.types import Effect

FORGETTING_RATIO = 0.85
"""Weight that earlier series keep when one is added: noise changes with the stack."""
CONFIDENCE_RATIO = 0.9
"""Confidence of the upper bound."""


@dataclass(slots=True)
class NoisePool:
    """Squares of the pairs' deviations from the mean of their start, and degrees of freedom."""

    squares: float = 0.0
    degrees: float = 0.0

    def add(self, effect: Effect) -> None:
        """Add a finished series."""
        degrees = effect.num_pairs - effect.num_starts_per_arm
        if degrees > 0:
            self.squares = self.squares * FORGETTING_RATIO + effect.sd_log_ratio**2 * degrees
            self.degrees = self.degrees * FORGETTING_RATIO + degrees

    @property
    def sd(self) -> float | None:
        """Standard deviation of a pair's log ratio; None before any series."""
        return math.sqrt(self.squares / self.degrees) if self.degrees > 0 else None

    @property
    def sd_high(self) -> float | None:
        """Upper confidence bound of ``sd``."""
        if self.degrees <= 0:
            return None
        quantile = float(chdtri(self.degrees, CONFIDENCE_RATIO))
        return math.sqrt(self.squares / quantile)
