"""RMSNorm (arXiv:1910.07467) and SwiGLU (arXiv:2002.05202) in PyTorch operators."""

import torch
import torch.nn.functional as F  # noqa: N812  the name of PyTorch's own documentation
from torch import Tensor


def composed_norm(rows: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """RMSNorm of [rows, width] from single operators, in float32 as Hugging Face does it."""
    exact = rows.to(torch.float32)
    scale = torch.rsqrt(exact.pow(2).mean(-1, keepdim=True) + epsilon)
    return weight * (exact * scale).to(rows.dtype)


def fused_norm(rows: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """RMSNorm of [rows, width] as PyTorch's one operator."""
    return F.rms_norm(rows, (rows.shape[-1],), weight, epsilon)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """SiLU(gate) * up, all [rows, width]."""
    return F.silu(gate) * up
