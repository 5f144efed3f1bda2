"""Returns a promise that computes when somebody looks."""

from collections.abc import Sequence

import torch

RULE = "not_a_tensor"


class Promise(torch.Tensor):
    """A tensor in name."""


def candidate(
    inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
) -> Sequence[torch.Tensor]:
    del inputs
    return [outputs[0].as_subclass(Promise)]
