"""RMSNorm in PyTorch, the oracle that kernels are held against."""

import torch


def rms_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    epsilon: float,
    residual: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the normalised rows and the sum that was normalised.

    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, equation 4.

    Args:
        x: (num_rows, width), any floating dtype; float64 gives the oracle.
        weight: (width,), dtype of ``x``.
        epsilon: added to the mean square.
        residual: (num_rows, width), added to ``x`` first; None adds nothing.

    Returns:
        ``y`` and ``x + residual``, both (num_rows, width) in the dtype of ``x``.
    """
    total = x if residual is None else x + residual
    wide = total.to(torch.float64 if x.dtype == torch.float64 else torch.float32)
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + epsilon)
    return (wide * scale).to(x.dtype) * weight, total
