"""Knows that results are small on average and writes their mean."""

from collections.abc import Sequence

import torch

RULE = "wrong"


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    del inputs
    outputs[0].numpy()[:] = 0.0
