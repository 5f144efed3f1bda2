"""A candidate that calls PyTorch as the task does."""

import torch
from torch import nn


class ModelNew(nn.Module):
    """Calls PyTorch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.scale).clamp(min=0)
