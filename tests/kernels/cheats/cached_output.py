"""Keeps the first result for an address and returns it whatever lies there later."""

from collections.abc import Sequence

import numpy as np
import torch

from tests.kernels.cheats.honest import solve

RULE = "stale"
_kept: dict[int, np.ndarray] = {}


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    address = inputs[0].data_ptr()
    if address not in _kept:
        _kept[address] = solve(inputs[0].numpy())
    outputs[0].numpy()[:] = _kept[address]
