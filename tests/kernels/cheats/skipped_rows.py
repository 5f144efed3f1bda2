"""Leaves out the last row and trusts that memory holds an earlier result."""

from collections.abc import Sequence

import torch

from tests.kernels.cheats.honest import solve

RULE = "wrong"


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    outputs[0].numpy()[:-1] = solve(inputs[0].numpy()[:-1])
