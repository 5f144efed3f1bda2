"""RMSNorm in Triton: one program a row, looped over blocks of columns."""

import torch
import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def rms_norm_kernel(  # type: ignore[no-untyped-def]  # noqa: ANN201, PLR0917 - Triton's form
    x_ptr,  # noqa: ANN001
    residual_ptr,  # noqa: ANN001
    weight_ptr,  # noqa: ANN001
    y_ptr,  # noqa: ANN001
    total_ptr,  # noqa: ANN001
    stride_m,  # noqa: ANN001
    width,  # noqa: ANN001
    epsilon,  # noqa: ANN001
    HAS_RESIDUAL: tl.constexpr,  # noqa: N803
    BLOCK_N: tl.constexpr,  # noqa: N803
):
    """Normalise one row in float32; all pointers address rows of ``stride_m`` elements."""
    # int64: rows times width exceeds 2^31 for long batches
    row = tl.program_id(0).to(tl.int64) * stride_m
    square_sum = tl.zeros([BLOCK_N], dtype=tl.float32)
    for start in range(0, width, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < width
        total = tl.load(x_ptr + row + offs_n, mask=mask_n, other=0.0).to(tl.float32)
        if HAS_RESIDUAL:
            residual = tl.load(residual_ptr + row + offs_n, mask=mask_n, other=0.0)
            total += residual.to(tl.float32)
        tl.store(total_ptr + row + offs_n, total, mask=mask_n)
        square_sum += total * total
    scale = tl.rsqrt(tl.sum(square_sum, axis=0) / width + epsilon)
    for start in range(0, width, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < width
        total = tl.load(total_ptr + row + offs_n, mask=mask_n, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
        tl.store(y_ptr + row + offs_n, total * scale * weight, mask=mask_n)


def rms_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    epsilon: float,
    residual: torch.Tensor | None = None,
    block_n: int = 1024,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the normalised rows and the sum that was normalised; see the reference.

    Args:
        x: (num_rows, width), contiguous.
        weight: (width,), contiguous.
        epsilon: added to the mean square.
        residual: (num_rows, width), contiguous; None adds nothing.
        block_n: columns a program loads at once, a power of two.

    Raises:
        ValueError: a tensor is not contiguous or has another shape.
    """
    tensors = [x, weight] if residual is None else [x, weight, residual]
    if not all(t.is_contiguous() for t in tensors):
        raise ValueError("rms_norm needs contiguous tensors; call .contiguous() first")
    num_rows, width = x.shape
    if weight.shape != (width,) or (residual is not None and residual.shape != x.shape):
        raise ValueError(f"shapes do not fit: x {tuple(x.shape)}, weight {tuple(weight.shape)}")
    y, total = torch.empty_like(x), torch.empty_like(x)
    if num_rows:
        rms_norm_kernel[(num_rows,)](
            x,
            x if residual is None else residual,
            weight,
            y,
            total,
            x.stride(0),
            width,
            epsilon,
            HAS_RESIDUAL=residual is not None,
            BLOCK_N=block_n,
        )
    return y, total
