"""Saves memory by working in place."""

from collections.abc import Sequence

import torch

from tests.kernels.cheats.honest import solve

RULE = "mutated_input"


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    x = inputs[0].numpy()
    outputs[0].numpy()[:] = solve(x)
    x[:, : x.shape[1] // 2] = outputs[0].numpy()
