"""Fresh inputs of a given seed, from several distributions."""

from dataclasses import dataclass, field
from typing import Literal

import torch

Variation = Literal["normal", "wide", "shifted"]
"""How numbers are drawn: N(0, 1), N(0, 16) or N(1, 1). A shortcut rarely holds under all three."""

VARIATIONS: tuple[Variation, ...] = ("normal", "wide", "shifted")
_SCALE = {"normal": 1.0, "wide": 4.0, "shifted": 1.0}
_SHIFT = {"normal": 0.0, "wide": 0.0, "shifted": 1.0}


@dataclass
class Draw:
    """Draws tensors; equal seeds on one kind of device give equal ones.

    Attributes:
        seed: of the generator.
        device: where tensors lie; on ``meta`` they have no contents.
        variation: distribution of ``numbers``.
    """

    seed: int
    device: torch.device
    variation: Variation = "normal"
    _generator: torch.Generator | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.device.type != "meta":
            self._generator = torch.Generator(self.device).manual_seed(self.seed)

    def numbers(self, *shape: int, dtype: torch.dtype, scale: float = 1.0) -> torch.Tensor:
        """Return numbers of the variation, times ``scale``, rounded to ``dtype``."""
        if self._generator is None:
            return torch.empty(shape, dtype=dtype, device=self.device)
        drawn = torch.randn(shape, generator=self._generator, device=self.device)
        drawn = (drawn * _SCALE[self.variation] + _SHIFT[self.variation]) * scale
        return drawn.to(dtype)

    def steady(self, *shape: int, dtype: torch.dtype, scale: float = 1.0) -> torch.Tensor:
        """Return numbers of N(0, ``scale``^2) under every variation, such as weights."""
        if self._generator is None:
            return torch.empty(shape, dtype=dtype, device=self.device)
        return (torch.randn(shape, generator=self._generator, device=self.device) * scale).to(
            dtype
        )

    def positive(self, *shape: int, dtype: torch.dtype) -> torch.Tensor:
        """Return numbers between 0.5 and 1.5."""
        if self._generator is None:
            return torch.empty(shape, dtype=dtype, device=self.device)
        return (torch.rand(shape, generator=self._generator, device=self.device) + 0.5).to(dtype)

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """Return 32-bit whole numbers in ``[low, high)``."""
        if self._generator is None:
            return torch.empty(shape, dtype=torch.int32, device=self.device)
        return torch.randint(
            low, high, shape, generator=self._generator, device=self.device, dtype=torch.int32
        )

    def permutation(self, length: int) -> torch.Tensor:
        """Return the numbers below ``length`` in some order, as 32-bit whole numbers."""
        if self._generator is None:
            return torch.empty(length, dtype=torch.int32, device=self.device)
        order = torch.randperm(length, generator=self._generator, device=self.device)
        return order.to(torch.int32)
