"""The product in PyTorch, the oracle that kernels are held against."""

import torch

from arbor.kernels.base import wide


def matmul(
    x: torch.Tensor,
    weight: torch.Tensor,
    x_scale: torch.Tensor | None = None,
    weight_scale: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return ``x @ weight.T``, rows and columns scaled.

    Args:
        x: (m, k); float64 gives the oracle.
        weight: (n, k), as linear layers store it.
        x_scale: (m,), factor of every row; None for 1.
        weight_scale: (n,), factor of every column of the result; None for 1.

    Returns:
        (m, n) in float64, or float32 for all narrower inputs.
    """
    kind = wide(x)
    product = x.to(kind) @ weight.to(kind).T
    if x_scale is not None:
        product = product * x_scale.to(kind)[:, None]
    if weight_scale is not None:
        product = product * weight_scale.to(kind)[None, :]
    return product
