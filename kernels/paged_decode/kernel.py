"""Paged decode attention in Triton: a long sequence is shared by several programs."""

import math

import torch
import triton
import triton.language as tl

from arbor.kernels.launching import Config, ceil_div, launch, next_power_of_2

_MIN_DOT = 16
"""Smallest side of a matrix product; fewer heads are padded."""


@triton.jit
def paged_decode_kernel(
    query_ptr,
    key_ptr,
    value_ptr,
    table_ptr,
    lengths_ptr,
    parts_ptr,
    sums_ptr,
    scale,
    max_blocks,
    tokens_per_split,
    num_kv_heads,
    GROUP: tl.constexpr,
    HEAD: tl.constexpr,
    PAGE: tl.constexpr,
    NUM_SPLITS: tl.constexpr,
    BLOCK_G: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Attend one part of one sequence for the ``GROUP`` query heads of one key-value head.

    Writes the part's average to ``parts`` (num_seqs, num_heads, NUM_SPLITS, HEAD) and the base-2
    logarithm of its sum of weights to ``sums`` (num_seqs, num_heads, NUM_SPLITS).
    """
    seq = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    split = tl.program_id(2)
    offs_g = tl.arange(0, BLOCK_G)
    offs_d = tl.arange(0, BLOCK_D)
    mask_g = offs_g < GROUP
    mask_d = offs_d < HEAD
    length = tl.load(lengths_ptr + seq)
    first = split * tokens_per_split
    last = min(first + tokens_per_split, length)

    heads = (seq * num_kv_heads + kv_head) * GROUP + offs_g
    query_ptrs = query_ptr + heads[:, None] * HEAD + offs_d[None, :]
    query = tl.load(query_ptrs, mask=mask_g[:, None] & mask_d[None, :], other=0.0)

    top = tl.full([BLOCK_G], float("-inf"), dtype=tl.float32)
    weight_sum = tl.zeros([BLOCK_G], dtype=tl.float32)
    total = tl.zeros([BLOCK_G, BLOCK_D], dtype=tl.float32)
    for start in range(first, last, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < last
        page_ptrs = table_ptr + seq * max_blocks + offs_n // PAGE
        page = tl.load(page_ptrs, mask=mask_n, other=0).to(tl.int64)
        # int64: a cache has more than 2^31 elements
        token = (page * PAGE + offs_n % PAGE) * num_kv_heads + kv_head
        key_ptrs = key_ptr + token[None, :] * HEAD + offs_d[:, None]
        key = tl.load(key_ptrs, mask=mask_d[:, None] & mask_n[None, :], other=0.0)
        scores = tl.dot(query, key, input_precision="ieee") * scale
        scores = tl.where(mask_n[None, :], scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        weight_sum = weight_sum * shrink + tl.sum(weights, axis=1)
        value_ptrs = value_ptr + token[:, None] * HEAD + offs_d[None, :]
        value = tl.load(value_ptrs, mask=mask_n[:, None] & mask_d[None, :], other=0.0)
        total = total * shrink[:, None]
        total = tl.dot(weights.to(value.dtype), value, total, input_precision="ieee")
        top = new_top

    # a part beyond the sequence's end has a sum of 0, which the logarithm makes minus infinity
    average = total / tl.where(weight_sum > 0.0, weight_sum, 1.0)[:, None]
    log_sum = tl.where(weight_sum > 0.0, top + tl.log2(weight_sum), float("-inf"))
    part_ptrs = parts_ptr + (heads * NUM_SPLITS + split)[:, None] * HEAD + offs_d[None, :]
    average = average.to(parts_ptr.dtype.element_ty)
    tl.store(part_ptrs, average, mask=mask_g[:, None] & mask_d[None, :])
    tl.store(sums_ptr + heads * NUM_SPLITS + split, log_sum, mask=mask_g)


@triton.jit
def merge_splits_kernel(
    parts_ptr,
    sums_ptr,
    out_ptr,
    HEAD: tl.constexpr,
    NUM_SPLITS: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Average the parts of one head of one sequence, weighted by their sums."""
    head = tl.program_id(0).to(tl.int64)
    offs_s = tl.arange(0, BLOCK_S)
    offs_d = tl.arange(0, BLOCK_D)
    mask_s = offs_s < NUM_SPLITS
    mask_d = offs_d < HEAD
    sums = tl.load(sums_ptr + head * NUM_SPLITS + offs_s, mask=mask_s, other=float("-inf"))
    weights = tl.exp2(sums - tl.max(sums, axis=0))
    part_ptrs = parts_ptr + (head * NUM_SPLITS + offs_s)[:, None] * HEAD + offs_d[None, :]
    parts = tl.load(part_ptrs, mask=mask_s[:, None] & mask_d[None, :], other=0.0)
    out = tl.sum(parts * weights[:, None], axis=0) / tl.sum(weights, axis=0)
    tl.store(out_ptr + head * HEAD + offs_d, out.to(out_ptr.dtype.element_ty), mask=mask_d)


def paged_decode(
    query: torch.Tensor,
    caches: tuple[torch.Tensor, torch.Tensor],
    block_table: torch.Tensor,
    lengths: torch.Tensor,
    out: torch.Tensor,
    config: Config,
) -> None:
    """Write the attention of every sequence's newest token to ``out``.

    Args:
        query: (num_seqs, num_heads, head_size), contiguous, like all others.
        caches: keys and values, (num_blocks, block_size, num_kv_heads, head_size).
        block_table: (num_seqs, max_blocks), int32.
        lengths: (num_seqs,), int32, at least 1.
        out: like ``query``.
        config: of the operator's space.
    """
    num_seqs, num_heads, head_size = query.shape
    page, num_kv_heads = caches[0].shape[1:3]
    max_blocks = block_table.shape[1]
    num_splits = int(config["NUM_SPLITS"])
    block_n = int(config["BLOCK_N"])
    tokens_per_split = ceil_div(ceil_div(max_blocks * page, num_splits), block_n) * block_n
    group = num_heads // num_kv_heads
    if num_splits == 1:
        parts = out
    else:
        parts = out.new_empty((num_seqs, num_heads, num_splits, head_size), dtype=torch.float32)
    sums = out.new_empty((num_seqs, num_heads, num_splits), dtype=torch.float32)
    launch(
        paged_decode_kernel,
        (num_seqs, num_kv_heads, num_splits),
        {
            "query_ptr": query,
            "key_ptr": caches[0],
            "value_ptr": caches[1],
            "table_ptr": block_table,
            "lengths_ptr": lengths,
            "parts_ptr": parts,
            "sums_ptr": sums,
            # weights are powers of two, which are cheaper than those of e
            "scale": head_size**-0.5 * math.log2(math.e),
            "max_blocks": max_blocks,
            "tokens_per_split": tokens_per_split,
            "num_kv_heads": num_kv_heads,
        },
        {
            "GROUP": group,
            "HEAD": head_size,
            "PAGE": page,
            "NUM_SPLITS": num_splits,
            "BLOCK_G": max(next_power_of_2(group), _MIN_DOT),
            "BLOCK_D": max(next_power_of_2(head_size), _MIN_DOT),
            "BLOCK_N": block_n,
        },
        config,
    )
    if num_splits > 1:
        launch(
            merge_splits_kernel,
            (num_seqs * num_heads,),
            {"parts_ptr": parts, "sums_ptr": sums, "out_ptr": out},
            {
                "HEAD": head_size,
                "NUM_SPLITS": num_splits,
                "BLOCK_S": next_power_of_2(num_splits),
                "BLOCK_D": next_power_of_2(head_size),
            },
            {"num_warps": 4},
        )
