"""SiLU-and-multiply in Triton: one program a block of one row."""

import torch
import triton
import triton.language as tl

from arbor.kernels.launching import Config, ceil_div, launch


@triton.jit
def silu_and_mul_kernel(
    x_ptr,
    y_ptr,
    width,
    num_blocks,
    BLOCK_N: tl.constexpr,
):
    """Write one block of a row of ``y`` (num_rows, width) from ``x`` (num_rows, 2 * width)."""
    # int64: rows times width exceeds 2^31 for long batches
    row = tl.program_id(0).to(tl.int64) // num_blocks
    offs_n = (tl.program_id(0) % num_blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < width
    gate = tl.load(x_ptr + row * 2 * width + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * width + width + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * width + offs_n, gate * tl.sigmoid(gate) * up, mask=mask_n)


def silu_and_mul(x: torch.Tensor, y: torch.Tensor, config: Config) -> None:
    """Write ``silu(gate) * up`` to ``y``.

    Args:
        x: (num_rows, 2 * width), contiguous.
        y: (num_rows, width), contiguous.
        config: of the operator's space.
    """
    num_rows, width = y.shape
    num_blocks = ceil_div(width, int(config["BLOCK_N"]))
    launch(
        silu_and_mul_kernel,
        (num_rows * num_blocks,),
        {"x_ptr": x, "y_ptr": y, "width": width, "num_blocks": num_blocks},
        {"BLOCK_N": config["BLOCK_N"]},
        config,
    )
