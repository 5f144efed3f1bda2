"""Reads its own small copy of the inputs, made at the first call, instead of the inputs."""

from collections.abc import Sequence

import numpy as np
import torch

from tests.kernels.cheats.honest import solve

RULE = "stale"
_copies: dict[int, np.ndarray] = {}


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    copy = _copies.setdefault(inputs[0].data_ptr(), inputs[0].numpy().copy())
    outputs[0].numpy()[:] = solve(copy)
