"""A task in KernelBench's form: a learned scale and a ReLU."""

import torch
from torch import nn

batch_size, dim = 64, 256
groups = 2


class Model(nn.Module):
    """The task."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * self.scale)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[int]:
    return [dim]
