"""Matrix products in Triton by plain loads: tiles of the output, and parts of a long sum."""

import torch
import triton
import triton.language as tl

from arbor.kernels.launching import Config, ceil_div, launch
from arbor.kernels.matmul.tiles import tile_of


@triton.jit
def matmul_kernel(
    x_ptr,
    weight_ptr,
    y_ptr,
    x_scale_ptr,
    weight_scale_ptr,
    m,
    n,
    k,
    k_per_split,
    HAS_SCALES: tl.constexpr,
    IS_K_EVEN: tl.constexpr,
    IMPRECISE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """Write one tile of ``y`` (splits, m, n) from ``x`` (m, k) and ``weight`` (n, k).

    Program axis 1 is the part of k; each part has a matrix of its own in ``y``.
    """
    tile_m, tile_n = tile_of(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    split = tl.program_id(1)
    offs_m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    # rows beyond the end read the first ones again, which is cheaper than a mask in the loop;
    # int64: m times k exceeds 2^31 for long batches
    row_m = (offs_m % m).to(tl.int64)
    row_n = (offs_n % n).to(tl.int64)
    first = split.to(tl.int64) * k_per_split
    x_ptrs = x_ptr + row_m[:, None] * k + first + offs_k[None, :]
    weight_ptrs = weight_ptr + row_n[None, :] * k + first + offs_k[:, None]
    left = min(k - first, k_per_split).to(tl.int32)
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, left, BLOCK_K):
        if IS_K_EVEN:
            x = tl.load(x_ptrs)
            weight = tl.load(weight_ptrs)
        else:
            x = tl.load(x_ptrs, mask=start + offs_k[None, :] < left, other=0.0)
            weight = tl.load(weight_ptrs, mask=start + offs_k[:, None] < left, other=0.0)
        total = tl.dot(x, weight, total, input_precision="ieee", max_num_imprecise_acc=IMPRECISE)
        x_ptrs += BLOCK_K
        weight_ptrs += BLOCK_K
    if HAS_SCALES:
        total *= tl.load(x_scale_ptr + row_m)[:, None]
        total *= tl.load(weight_scale_ptr + row_n)[None, :]
    mask = (offs_m[:, None] < m) & (offs_n[None, :] < n)
    base = split.to(tl.int64) * m * n
    y_ptrs = y_ptr + base + offs_m.to(tl.int64)[:, None] * n + offs_n[None, :]
    tl.store(y_ptrs, total.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def sum_splits_kernel(
    parts_ptr,
    y_ptr,
    num_elements,
    NUM_SPLITS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add up the parts (NUM_SPLITS, num_elements) in a fixed order."""
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < num_elements
    total = tl.zeros([BLOCK], dtype=tl.float32)
    part_ptrs = parts_ptr + offs
    for _ in tl.static_range(NUM_SPLITS):
        total += tl.load(part_ptrs, mask=mask, other=0.0)
        part_ptrs += num_elements
    tl.store(y_ptr + offs, total.to(y_ptr.dtype.element_ty), mask=mask)


def matmul_by_loads(
    x: torch.Tensor,
    weight: torch.Tensor,
    scales: tuple[torch.Tensor, torch.Tensor] | None,
    y: torch.Tensor,
    config: Config,
) -> None:
    """Write ``x @ weight.T`` to ``y``.

    Args:
        x: (m, k), contiguous, like all others.
        weight: (n, k).
        scales: factors (m,) of rows and (n,) of columns, float32; None for 1.
        y: (m, n).
        config: of the operator's space.
    """
    (m, k), n = x.shape, weight.shape[0]
    block_k, num_splits = int(config["BLOCK_K"]), int(config["SPLIT_K"])
    k_per_split = ceil_div(ceil_div(k, num_splits), block_k) * block_k
    # parts that would be empty are not started
    num_splits = ceil_div(k, k_per_split)
    parts = y if num_splits == 1 else y.new_empty((num_splits, m, n), dtype=torch.float32)
    x_scale, weight_scale = scales or (x, x)
    num_tiles = ceil_div(m, int(config["BLOCK_M"])) * ceil_div(n, int(config["BLOCK_N"]))
    launch(
        matmul_kernel,
        (num_tiles, num_splits),
        {
            "x_ptr": x,
            "weight_ptr": weight,
            "y_ptr": parts,
            "x_scale_ptr": x_scale,
            "weight_scale_ptr": weight_scale,
            "m": m,
            "n": n,
            "k": k,
            "k_per_split": k_per_split,
        },
        {
            "HAS_SCALES": scales is not None,
            "IS_K_EVEN": k % block_k == 0,
            "IMPRECISE": imprecise_products(x, block_k),
            "BLOCK_M": config["BLOCK_M"],
            "BLOCK_N": config["BLOCK_N"],
            "BLOCK_K": block_k,
            "GROUP_M": config["GROUP_M"],
        },
        config,
    )
    if num_splits > 1:
        block = 1024
        launch(
            sum_splits_kernel,
            (ceil_div(m * n, block),),
            {"parts_ptr": parts, "y_ptr": y, "num_elements": m * n},
            {"NUM_SPLITS": num_splits, "BLOCK": block},
            {"num_warps": 4},
        )


def imprecise_products(x: torch.Tensor, block_k: int) -> int | None:
    """Return how many fp8 products tensor cores may add up before the sum moves to float32.

    Hopper adds fp8 products with fewer bits than float32 has; a block is the shortest run.
    """
    return block_k if x.element_size() == 1 else None
