"""Returns the input's own memory as the result."""

from collections.abc import Sequence

import torch

RULE = "aliased_input"


def candidate(
    inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
) -> Sequence[torch.Tensor]:
    return [inputs[0][:, : outputs[0].shape[1]]]
