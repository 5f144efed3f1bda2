"""Computes in 16 bits what was asked in 32."""

from collections.abc import Sequence

import numpy as np
import torch

from tests.kernels.cheats.honest import solve

RULE = "wrong"


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    outputs[0].numpy()[:] = solve(inputs[0].numpy().astype(np.float16))
