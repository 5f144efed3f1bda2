"""Matrix products in Triton by tensor descriptors: programs stay, and tiles are copied in bulk."""

import torch
import triton
import triton.language as tl

from arbor.kernels.launching import Config, ceil_div, launch
from arbor.kernels.matmul.kernel import imprecise_products
from arbor.kernels.matmul.tiles import tile_of

ALIGNMENT_BYTES = 16
"""Bulk copies need rows and bases that are multiples of it."""


@triton.jit
def matmul_descriptor_kernel(
    x_ptr,
    weight_ptr,
    y_ptr,
    x_scale_ptr,
    weight_scale_ptr,
    m,
    n,
    k,
    HAS_SCALES: tl.constexpr,
    IMPRECISE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """Write every so many-th tile of ``y`` (m, n) from ``x`` (m, k) and ``weight`` (n, k)."""
    x_tiles = tl.make_tensor_descriptor(x_ptr, [m, k], [k, 1], [BLOCK_M, BLOCK_K])
    weight_tiles = tl.make_tensor_descriptor(weight_ptr, [n, k], [k, 1], [BLOCK_N, BLOCK_K])
    y_tiles = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [BLOCK_M, BLOCK_N])
    num_tiles = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    for index in tl.range(tl.program_id(0), num_tiles, tl.num_programs(0), flatten=True):
        tile_m, tile_n = tile_of(index, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for start in range(0, k, BLOCK_K):
            x = x_tiles.load([tile_m * BLOCK_M, start])
            weight = weight_tiles.load([tile_n * BLOCK_N, start])
            total = tl.dot(x, weight.T, total, max_num_imprecise_acc=IMPRECISE)
        if HAS_SCALES:
            offs_m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
            offs_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
            total *= tl.load(x_scale_ptr + offs_m, mask=offs_m < m, other=0.0)[:, None]
            total *= tl.load(weight_scale_ptr + offs_n, mask=offs_n < n, other=0.0)[None, :]
        y_tiles.store([tile_m * BLOCK_M, tile_n * BLOCK_N], total.to(y_ptr.dtype.element_ty))


def descriptors_fit(k: int, n: int, element_bytes: int, output_bytes: int) -> bool:
    """Return whether rows of inputs (``k``) and output (``n``) are aligned for bulk copies."""
    return k * element_bytes % ALIGNMENT_BYTES == 0 and n * output_bytes % ALIGNMENT_BYTES == 0


def _scratch(size: int, alignment: int, stream: int | None) -> torch.Tensor:  # noqa: ARG001 - Triton's form
    return torch.empty(size, dtype=torch.int8, device="cuda")


def matmul_by_descriptors(
    x: torch.Tensor,
    weight: torch.Tensor,
    scales: tuple[torch.Tensor, torch.Tensor] | None,
    y: torch.Tensor,
    config: Config,
) -> None:
    """Write ``x @ weight.T`` to ``y``; see ``matmul_by_loads``."""
    (m, k), n = x.shape, weight.shape[0]
    num_tiles = ceil_div(m, int(config["BLOCK_M"])) * ceil_div(n, int(config["BLOCK_N"]))
    num_programs = num_tiles
    if x.is_cuda:
        # descriptors are made on the device, in memory that the launcher asks for
        triton.set_allocator(_scratch)
        properties = torch.cuda.get_device_properties(x.device)
        num_programs = min(num_tiles, properties.multi_processor_count)
    x_scale, weight_scale = scales or (x, x)
    launch(
        matmul_descriptor_kernel,
        (num_programs,),
        {
            "x_ptr": x,
            "weight_ptr": weight,
            "y_ptr": y,
            "x_scale_ptr": x_scale,
            "weight_scale_ptr": weight_scale,
            "m": m,
            "n": n,
            "k": k,
        },
        {
            "HAS_SCALES": scales is not None,
            "IMPRECISE": imprecise_products(x, int(config["BLOCK_K"])),
            "BLOCK_M": config["BLOCK_M"],
            "BLOCK_N": config["BLOCK_N"],
            "BLOCK_K": config["BLOCK_K"],
            "GROUP_M": config["GROUP_M"],
        },
        config,
    )
