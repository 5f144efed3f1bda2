"""Is right for inputs around zero only, which is what benchmarks usually draw."""

from collections.abc import Sequence

import numpy as np
import torch

from tests.kernels.cheats.honest import solve

RULE = "wrong"


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    x = inputs[0].numpy()
    outputs[0].numpy()[:] = solve(x if abs(x.mean()) < 0.5 else np.clip(x, -1, 1))
