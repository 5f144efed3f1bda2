"""Softmax in PyTorch, the oracle that kernels are held against."""

import torch

from arbor.kernels.base import wide


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Return the softmax of every row.

    Args:
        x: (num_rows, width); float64 gives the oracle. A row of nothing but minus infinity is NaN.

    Returns:
        (num_rows, width) in the dtype of ``x``.
    """
    return torch.softmax(x.to(wide(x)), dim=-1).to(x.dtype)
