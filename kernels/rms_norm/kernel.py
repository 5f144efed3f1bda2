"""RMSNorm in Triton: a program takes a few rows, whole when they fit, else block by block."""

import torch
import triton
import triton.language as tl

from arbor.kernels.launching import Config, ceil_div, launch


@triton.jit
def rms_norm_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    total_ptr,
    num_rows,
    width,
    epsilon,
    HAS_RESIDUAL: tl.constexpr,
    IS_WHOLE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Normalise ``BLOCK_M`` rows in float32; all matrices are (num_rows, width), contiguous."""
    # int64: rows times width exceeds 2^31 for long batches
    offs_m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    mask_m = offs_m[:, None] < num_rows
    if IS_WHOLE:
        mask = mask_m & (offs_n[None, :] < width)
        offs = offs_m[:, None] * width + offs_n[None, :]
        total = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        if HAS_RESIDUAL:
            total += tl.load(residual_ptr + offs, mask=mask, other=0.0).to(tl.float32)
            tl.store(total_ptr + offs, total, mask=mask)
        weight = tl.load(weight_ptr + offs_n, mask=offs_n < width, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(total * total, axis=1) / width + epsilon)
        tl.store(y_ptr + offs, total * scale[:, None] * weight[None, :], mask=mask)
    else:
        square_sum = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for start in range(0, width, BLOCK_N):
            mask = mask_m & (start + offs_n[None, :] < width)
            offs = offs_m[:, None] * width + start + offs_n[None, :]
            total = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
            if HAS_RESIDUAL:
                total += tl.load(residual_ptr + offs, mask=mask, other=0.0).to(tl.float32)
                tl.store(total_ptr + offs, total, mask=mask)
            square_sum += total * total
        scale = tl.rsqrt(tl.sum(square_sum, axis=1) / width + epsilon)
        for start in range(0, width, BLOCK_N):
            mask_n = start + offs_n < width
            mask = mask_m & mask_n[None, :]
            offs = offs_m[:, None] * width + start + offs_n[None, :]
            # summed again rather than read back, since the stored sum is rounded
            total = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
            if HAS_RESIDUAL:
                total += tl.load(residual_ptr + offs, mask=mask, other=0.0).to(tl.float32)
            weight = tl.load(weight_ptr + start + offs_n, mask=mask_n, other=0.0).to(tl.float32)
            tl.store(y_ptr + offs, total * scale[:, None] * weight[None, :], mask=mask)


def rms_norm(
    x: torch.Tensor,
    residual: torch.Tensor | None,
    weight: torch.Tensor,
    y: torch.Tensor,
    total: torch.Tensor | None,
    epsilon: float,
    config: Config,
) -> None:
    """Write the normalised rows to ``y`` and the sum to ``total``.

    Args:
        x: (num_rows, width), contiguous, like all others.
        residual: (num_rows, width); None adds nothing.
        weight: (width,).
        y: (num_rows, width).
        total: (num_rows, width); only with a residual.
        epsilon: added to the mean square.
        config: of the operator's space.
    """
    num_rows, width = x.shape
    launch(
        rms_norm_kernel,
        (ceil_div(num_rows, int(config["BLOCK_M"])),),
        {
            "x_ptr": x,
            "residual_ptr": x if residual is None else residual,
            "weight_ptr": weight,
            "y_ptr": y,
            "total_ptr": y if total is None else total,
            "num_rows": num_rows,
            "width": width,
            "epsilon": epsilon,
        },
        {
            "HAS_RESIDUAL": residual is not None,
            "IS_WHOLE": int(config["BLOCK_N"]) >= width,
            "BLOCK_M": config["BLOCK_M"],
            "BLOCK_N": config["BLOCK_N"],
        },
        config,
    )
