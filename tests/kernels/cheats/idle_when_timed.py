"""Works while it is examined and stops once it is only timed; the timing must refuse it."""

from collections.abc import Sequence

import torch

from tests.kernels.cheats.honest import candidate as honest

RULE = "wrong"
NUM_EXAMINED = 3
_calls = [0]


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    _calls[0] += 1
    if _calls[0] <= NUM_EXAMINED:
        honest(inputs, outputs)
