"""Writes whole blocks, also where the row has ended."""

import ctypes
from collections.abc import Sequence

import torch

from tests.kernels.cheats.honest import candidate as honest

RULE = "written_outside"


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    honest(inputs, outputs)
    end = outputs[0].data_ptr() + outputs[0].numel() * outputs[0].element_size()
    ctypes.memset(end, 0, 16)
