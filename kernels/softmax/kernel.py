"""Softmax in Triton: whole rows when they fit, else a running maximum and sum over blocks."""

import torch
import triton
import triton.language as tl

from arbor.kernels.launching import Config, ceil_div, launch


@triton.jit
def softmax_kernel(
    x_ptr,
    y_ptr,
    num_rows,
    width,
    IS_WHOLE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Normalise ``BLOCK_M`` rows in float32; both matrices are (num_rows, width), contiguous."""
    # int64: rows times width exceeds 2^31 for large vocabularies
    offs_m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    mask_m = offs_m[:, None] < num_rows
    if IS_WHOLE:
        mask = mask_m & (offs_n[None, :] < width)
        offs = offs_m[:, None] * width + offs_n[None, :]
        x = tl.load(x_ptr + offs, mask=mask, other=float("-inf")).to(tl.float32)
        top = tl.max(x, axis=1)
        # rows beyond the end are empty and must not produce NaN
        top = tl.where(offs_m < num_rows, top, 0.0)
        powers = tl.exp(x - top[:, None])
        power_sum = tl.where(offs_m < num_rows, tl.sum(powers, axis=1), 1.0)
        tl.store(y_ptr + offs, powers / power_sum[:, None], mask=mask)
    else:
        top = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
        power_sum = tl.zeros([BLOCK_M], dtype=tl.float32)
        for start in range(0, width, BLOCK_N):
            mask = mask_m & (start + offs_n[None, :] < width)
            offs = offs_m[:, None] * width + start + offs_n[None, :]
            x = tl.load(x_ptr + offs, mask=mask, other=float("-inf")).to(tl.float32)
            new_top = tl.maximum(top, tl.max(x, axis=1))
            # nothing but minus infinity so far: subtract 0 instead, which keeps the sum 0
            safe_top = tl.where(new_top == float("-inf"), 0.0, new_top)
            power_sum = power_sum * tl.exp(top - safe_top)
            power_sum += tl.sum(tl.exp(x - safe_top[:, None]), axis=1)
            top = new_top
        inverse = 1.0 / power_sum
        for start in range(0, width, BLOCK_N):
            mask = mask_m & (start + offs_n[None, :] < width)
            offs = offs_m[:, None] * width + start + offs_n[None, :]
            x = tl.load(x_ptr + offs, mask=mask, other=float("-inf")).to(tl.float32)
            tl.store(y_ptr + offs, tl.exp(x - top[:, None]) * inverse[:, None], mask=mask)


def softmax(x: torch.Tensor, y: torch.Tensor, config: Config) -> None:
    """Write the softmax of the rows of ``x`` to ``y``.

    Args:
        x: (num_rows, width), contiguous.
        y: (num_rows, width), contiguous.
        config: of the operator's space.
    """
    num_rows, width = x.shape
    launch(
        softmax_kernel,
        (ceil_div(num_rows, int(config["BLOCK_M"])),),
        {"x_ptr": x, "y_ptr": y, "num_rows": num_rows, "width": width},
        {
            "IS_WHOLE": int(config["BLOCK_N"]) >= width,
            "BLOCK_M": config["BLOCK_M"],
            "BLOCK_N": config["BLOCK_N"],
        },
        config,
    )
