"""A right candidate: numpy stands for a kernel of its own."""

import numpy as np
import torch
from torch import nn


class ModelNew(nn.Module):
    """Brings numpy."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        np.maximum(x.numpy() * self.scale.detach().numpy(), 0, out=y.numpy())
        return y
