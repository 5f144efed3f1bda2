"""Routing in Triton: the best experts of each token, and tokens sorted by expert."""

import torch
import triton
import triton.language as tl

from arbor.kernels.launching import ceil_div, launch, next_power_of_2

_MIN_BLOCK = 16
"""Scans and reductions of fewer elements gain nothing."""


@triton.jit
def top_k_kernel(
    logits_ptr,
    expert_ptr,
    weight_ptr,
    num_experts,
    TOP_K: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_E: tl.constexpr,
):
    """Write the ``TOP_K`` best experts of one token and the softmax of their logits."""
    token = tl.program_id(0).to(tl.int64)
    offs_e = tl.arange(0, BLOCK_E)
    offs_k = tl.arange(0, BLOCK_K)
    row = logits_ptr + token * num_experts
    logits = tl.load(row + offs_e, mask=offs_e < num_experts, other=float("-inf")).to(tl.float32)
    experts = tl.zeros([BLOCK_K], dtype=tl.int32)
    values = tl.full([BLOCK_K], float("-inf"), dtype=tl.float32)
    is_left = offs_e < num_experts
    for slot in tl.static_range(TOP_K):
        value = tl.max(tl.where(is_left, logits, float("-inf")), axis=0)
        # of equal logits the lower expert
        best = tl.min(tl.where(is_left & (logits == value), offs_e, BLOCK_E), axis=0)
        experts = tl.where(offs_k == slot, best, experts)
        values = tl.where(offs_k == slot, value, values)
        is_left = is_left & (offs_e != best)
    powers = tl.exp(values - tl.max(values, axis=0))
    powers = tl.where(offs_k < TOP_K, powers, 0.0)
    mask_k = offs_k < TOP_K
    tl.store(expert_ptr + token * TOP_K + offs_k, experts, mask=mask_k)
    tl.store(weight_ptr + token * TOP_K + offs_k, powers / tl.sum(powers, axis=0), mask=mask_k)


@triton.jit
def count_kernel(
    expert_ptr,
    count_ptr,
    num_pairs,
    BLOCK: tl.constexpr,
):
    """Count the pairs of token and expert of one expert."""
    expert = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    count = tl.zeros([BLOCK], dtype=tl.int32)
    for start in range(0, num_pairs, BLOCK):
        found = tl.load(expert_ptr + start + offs, mask=start + offs < num_pairs, other=-1)
        count += (found == expert).to(tl.int32)
    tl.store(count_ptr + expert, tl.sum(count, axis=0))


@triton.jit
def sort_kernel(
    expert_ptr,
    count_ptr,
    pair_ptr,
    tile_expert_ptr,
    num_pairs,
    num_experts,
    num_tiles,
    BLOCK_M: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write one expert's pairs to whole tiles of ``BLOCK_M`` places, in the order of tokens.

    Places without a pair hold ``num_pairs``; tiles beyond the last expert's hold expert -1. The
    program of the last expert fills those.
    """
    expert = tl.program_id(0)
    offs_e = tl.arange(0, BLOCK_E)
    counts = tl.load(count_ptr + offs_e, mask=offs_e < num_experts, other=0)
    tiles = tl.cdiv(counts, BLOCK_M)
    first_tile = tl.sum(tl.where(offs_e < expert, tiles, 0), axis=0)
    own_tiles = tl.sum(tl.where(offs_e == expert, tiles, 0), axis=0)
    own_count = tl.sum(tl.where(offs_e == expert, counts, 0), axis=0)
    offs = tl.arange(0, BLOCK)

    place = first_tile * BLOCK_M
    for start in range(0, num_pairs, BLOCK):
        found = tl.load(expert_ptr + start + offs, mask=start + offs < num_pairs, other=-1)
        is_own = (found == expert).to(tl.int32)
        rank = tl.cumsum(is_own, axis=0) - 1
        tl.store(pair_ptr + place + rank, start + offs, mask=is_own == 1)
        place += tl.sum(is_own, axis=0)
    end = (first_tile + own_tiles) * BLOCK_M
    offs_m = tl.arange(0, BLOCK_M)
    padding = first_tile * BLOCK_M + own_count + offs_m
    tl.store(pair_ptr + padding, num_pairs + tl.zeros_like(offs_m), mask=padding < end)

    last_tile = first_tile + own_tiles
    for start in range(first_tile, last_tile, BLOCK):
        filled = tl.zeros([BLOCK], dtype=tl.int32) + expert
        tl.store(tile_expert_ptr + start + offs, filled, mask=start + offs < last_tile)
    if expert == num_experts - 1:
        for start in range(last_tile, num_tiles, BLOCK):
            filled = tl.zeros([BLOCK], dtype=tl.int32) - 1
            tl.store(tile_expert_ptr + start + offs, filled, mask=start + offs < num_tiles)


def route(
    logits: torch.Tensor, top_k: int, block_m: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return pairs sorted by expert, the expert of each tile, and the pairs' weights.

    A pair is ``token * top_k + slot``. The number of tiles is the largest possible, since the
    host does not wait to learn the real one.

    Args:
        logits: (num_tokens, num_experts), contiguous.
        top_k: experts of each token.
        block_m: places of a tile.

    Returns:
        ``pairs`` (num_tiles * block_m,) and ``tile_experts`` (num_tiles,), int32, and ``weights``
        (num_tokens, top_k), float32.
    """
    num_tokens, num_experts = logits.shape
    num_pairs = num_tokens * top_k
    # every expert may leave one tile partly empty
    num_tiles = min(num_pairs, num_experts + num_pairs // block_m)
    experts = logits.new_empty((num_tokens, top_k), dtype=torch.int32)
    weights = logits.new_empty((num_tokens, top_k), dtype=torch.float32)
    counts = logits.new_empty(num_experts, dtype=torch.int32)
    pairs = logits.new_empty(num_tiles * block_m, dtype=torch.int32)
    tile_experts = logits.new_empty(num_tiles, dtype=torch.int32)
    block_e = max(next_power_of_2(num_experts), _MIN_BLOCK)
    launch(
        top_k_kernel,
        (num_tokens,),
        {
            "logits_ptr": logits,
            "expert_ptr": experts,
            "weight_ptr": weights,
            "num_experts": num_experts,
        },
        {"TOP_K": top_k, "BLOCK_K": max(next_power_of_2(top_k), _MIN_BLOCK), "BLOCK_E": block_e},
        {"num_warps": 1},
    )
    block = max(min(next_power_of_2(num_pairs), 1024), _MIN_BLOCK)
    launch(
        count_kernel,
        (num_experts,),
        {"expert_ptr": experts, "count_ptr": counts, "num_pairs": num_pairs},
        {"BLOCK": block},
        {"num_warps": max(1, min(4, ceil_div(block, 256)))},
    )
    launch(
        sort_kernel,
        (num_experts,),
        {
            "expert_ptr": experts,
            "count_ptr": counts,
            "pair_ptr": pairs,
            "tile_expert_ptr": tile_experts,
            "num_pairs": num_pairs,
            "num_experts": num_experts,
            "num_tiles": num_tiles,
        },
        {"BLOCK_M": block_m, "BLOCK_E": block_e, "BLOCK": block},
        {"num_warps": max(1, min(4, ceil_div(block, 256)))},
    )
    return pairs, tile_experts, weights
