"""SiLU-and-multiply in PyTorch, the oracle that kernels are held against."""

import torch

from arbor.kernels.base import wide


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """Return ``silu(gate) * up`` of rows that hold both.

    Source: Shazeer, "GLU Variants Improve Transformer", 2020, equation 5 (SwiGLU, without its
    matrices).

    Args:
        x: (num_rows, 2 * width), the gate first; float64 gives the oracle.

    Returns:
        (num_rows, width) in the dtype of ``x``.
    """
    gate, up = x.to(wide(x)).chunk(2, dim=-1)
    return (gate * torch.sigmoid(gate) * up).to(x.dtype)
