"""Calls the library that it claims to replace."""

from collections.abc import Sequence

import torch

RULE = "reference_inside"


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    gate, up = inputs[0].chunk(2, dim=-1)
    torch.mul(torch.nn.functional.silu(gate), up, out=outputs[0])
