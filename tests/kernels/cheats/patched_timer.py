"""Slows the clock down."""

import time
from collections.abc import Sequence

import torch

from tests.kernels.cheats.honest import candidate as honest

RULE = "patched_function"
_true_clock = time.perf_counter_ns


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    time.perf_counter_ns = lambda: _true_clock() // 10
    honest(inputs, outputs)
