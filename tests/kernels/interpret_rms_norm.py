"""Child program of test_rms_norm: runs the kernel in Triton's interpreter on CPU tensors.

Outputs are checked against float64, and buffers around the tensors for stray writes.
"""

import sys

import torch

from arbor.kernels.rms_norm import kernel, reference

GUARD = 64
EPSILON = 1e-5


def guarded(rows: int, width: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a buffer of 7.0 and a contiguous (rows, width) view in its middle."""
    buffer = torch.full((rows * width + 2 * GUARD,), 7.0, dtype=dtype)
    return buffer, buffer[GUARD : GUARD + rows * width].view(rows, width)


def check(rows: int, width: int, dtype: torch.dtype, *, has_residual: bool) -> float:
    """Return the relative error ||y - ref|| / ||ref|| of one shape."""
    generator = torch.Generator().manual_seed(rows * 1009 + width)
    buffer, x = guarded(rows, width, dtype)
    x.copy_(torch.randn(rows, width, generator=generator))
    residual = torch.randn(rows, width, generator=generator).to(dtype) if has_residual else None
    weight = torch.randn(width, generator=generator).to(dtype)
    before = x.clone()
    y, total = kernel.rms_norm(x, weight, EPSILON, residual, block_n=64)
    if not torch.equal(x, before) or not bool((buffer[:GUARD] == 7.0).all()):
        sys.exit("the kernel wrote to its input")
    expected, expected_total = reference.rms_norm(
        x.double(), weight.double(), EPSILON, None if residual is None else residual.double()
    )
    if not torch.allclose(total.double(), expected_total, rtol=1e-2, atol=1e-2):
        sys.exit(f"sum differs at {rows}x{width}")
    return float((y.double() - expected).norm() / expected.norm())


for shape in ((1, 1), (3, 63), (2, 100), (1, 1000)):
    for dtype, limit in ((torch.float32, 1e-6), (torch.bfloat16, 1e-2)):
        for has_residual in (False, True):
            error = check(*shape, dtype, has_residual=has_residual)
            if not error < limit:
                sys.exit(f"{shape} {dtype} residual={has_residual}: error {error:.2e} >= {limit}")
print("ok")  # noqa: T201 - the parent reads it
