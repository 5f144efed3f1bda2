"""Not a cheat: the solution that the others pretend to be."""

from collections.abc import Sequence

import numpy as np
import torch


def solve(x: np.ndarray) -> np.ndarray:
    """Return SiLU of the first half of each row times the second half."""
    gate, up = np.split(x, 2, axis=-1)
    return np.asarray(gate / (1 + np.exp(-gate)) * up)


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    outputs[0].numpy()[:] = solve(inputs[0].numpy())
