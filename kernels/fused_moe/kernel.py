"""A mixture of experts in Triton: grouped products over tokens that are sorted by expert."""

import torch
import triton
import triton.language as tl

from arbor.kernels.fused_moe.routing_kernels import route
from arbor.kernels.launching import Config, ceil_div, launch, next_power_of_2
from arbor.kernels.silu_and_mul.kernel import silu_and_mul

_ACTIVATION: Config = {"BLOCK_N": 1024, "num_warps": 4}
_MAX_SUM_BLOCK = 1024


@triton.jit
def grouped_matmul_kernel(
    x_ptr,
    weight_ptr,
    y_ptr,
    pair_ptr,
    tile_expert_ptr,
    num_pairs,
    num_tiles,
    n,
    k,
    PAIRS_PER_ROW: tl.constexpr,
    IS_K_EVEN: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    """Write one tile of ``y`` (num_pairs, n): rows of ``x`` times their expert's matrix.

    ``x`` is (num_pairs / PAIRS_PER_ROW, k), ``weight`` (num_experts, n, k). Names of blocks are
    those that vLLM's tuned configurations use.
    """
    tiles_n = tl.cdiv(n, BLOCK_SIZE_N)
    per_group = GROUP_SIZE_M * tiles_n
    first_m = (tl.program_id(0) // per_group) * GROUP_SIZE_M
    height = min(num_tiles - first_m, GROUP_SIZE_M)
    inside = tl.program_id(0) % per_group
    tile_m = first_m + inside % height
    tile_n = inside // height
    expert = tl.load(tile_expert_ptr + tile_m).to(tl.int64)
    if expert < 0:
        return
    pair = tl.load(pair_ptr + tile_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M))
    mask_m = pair < num_pairs
    offs_n = tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    mask_n = offs_n < n
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    # int64: experts times n times k exceeds 2^31
    row = (pair // PAIRS_PER_ROW).to(tl.int64)
    column = expert * n + offs_n % n
    x_ptrs = x_ptr + row[:, None] * k + offs_k[None, :]
    weight_ptrs = weight_ptr + column[None, :] * k + offs_k[:, None]
    total = tl.zeros([BLOCK_SIZE_M, BLOCK_SIZE_N], dtype=tl.float32)
    for start in range(0, k, BLOCK_SIZE_K):
        if IS_K_EVEN:
            x = tl.load(x_ptrs, mask=mask_m[:, None], other=0.0)
            weight = tl.load(weight_ptrs)
        else:
            mask_k = start + offs_k < k
            x = tl.load(x_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
            weight = tl.load(weight_ptrs, mask=mask_k[:, None], other=0.0)
        total = tl.dot(x, weight, total, input_precision="ieee")
        x_ptrs += BLOCK_SIZE_K
        weight_ptrs += BLOCK_SIZE_K
    y_ptrs = y_ptr + pair.to(tl.int64)[:, None] * n + offs_n[None, :]
    tl.store(y_ptrs, total.to(y_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_n[None, :])


@triton.jit
def weighted_sum_kernel(
    parts_ptr,
    weight_ptr,
    y_ptr,
    width,
    num_blocks,
    TOP_K: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add up one token's ``TOP_K`` rows of ``parts``, weighted, for one block of columns."""
    token = tl.program_id(0).to(tl.int64) // num_blocks
    offs = (tl.program_id(0) % num_blocks) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < width
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for slot in tl.static_range(TOP_K):
        pair = token * TOP_K + slot
        part = tl.load(parts_ptr + pair * width + offs, mask=mask, other=0.0).to(tl.float32)
        total += part * tl.load(weight_ptr + pair)
    tl.store(y_ptr + token * width + offs, total.to(y_ptr.dtype.element_ty), mask=mask)


def fused_moe(
    x: torch.Tensor,
    logits: torch.Tensor,
    experts: tuple[torch.Tensor, torch.Tensor],
    top_k: int,
    y: torch.Tensor,
    config: Config,
) -> None:
    """Write the weighted sum of each token's best experts to ``y``.

    Args:
        x: (num_tokens, hidden), contiguous, like all others.
        logits: (num_tokens, num_experts).
        experts: (num_experts, 2 * width, hidden), gate first, and (num_experts, hidden, width).
        top_k: experts of each token.
        y: (num_tokens, hidden).
        config: of the operator's space.
    """
    gate_up, down = experts
    num_tokens, hidden = x.shape
    width = down.shape[2]
    num_pairs = num_tokens * top_k
    routed = route(logits, top_k, int(config["BLOCK_SIZE_M"]))
    inner = x.new_empty((num_pairs, 2 * width))
    activated = x.new_empty((num_pairs, width))
    parts = x.new_empty((num_pairs, hidden))
    _grouped_matmul(x, gate_up, inner, routed, top_k, config)
    silu_and_mul(inner, activated, _ACTIVATION)
    _grouped_matmul(activated, down, parts, routed, 1, config)
    block = min(next_power_of_2(hidden), _MAX_SUM_BLOCK)
    num_blocks = ceil_div(hidden, block)
    launch(
        weighted_sum_kernel,
        (num_tokens * num_blocks,),
        {
            "parts_ptr": parts,
            "weight_ptr": routed[2],
            "y_ptr": y,
            "width": hidden,
            "num_blocks": num_blocks,
        },
        {"TOP_K": top_k, "BLOCK": block},
        {"num_warps": 4},
    )


def _grouped_matmul(
    x: torch.Tensor,
    weight: torch.Tensor,
    y: torch.Tensor,
    routed: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    pairs_per_row: int,
    config: Config,
) -> None:
    pairs, tile_experts, _ = routed
    num_pairs, n = y.shape
    k = x.shape[1]
    num_tiles = tile_experts.shape[0]
    launch(
        grouped_matmul_kernel,
        (num_tiles * ceil_div(n, int(config["BLOCK_SIZE_N"])),),
        {
            "x_ptr": x,
            "weight_ptr": weight,
            "y_ptr": y,
            "pair_ptr": pairs,
            "tile_expert_ptr": tile_experts,
            "num_pairs": num_pairs,
            "num_tiles": num_tiles,
            "n": n,
            "k": k,
        },
        {
            "PAIRS_PER_ROW": pairs_per_row,
            "IS_K_EVEN": k % int(config["BLOCK_SIZE_K"]) == 0,
            "BLOCK_SIZE_M": config["BLOCK_SIZE_M"],
            "BLOCK_SIZE_N": config["BLOCK_SIZE_N"],
            "BLOCK_SIZE_K": config["BLOCK_SIZE_K"],
            "GROUP_SIZE_M": config["GROUP_SIZE_M"],
        },
        config,
    )
