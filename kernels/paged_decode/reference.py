"""Paged decode attention in PyTorch, the oracle that kernels are held against."""

import torch

from arbor.kernels.base import wide


def paged_decode(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    block_table: torch.Tensor,
    lengths: torch.Tensor,
) -> torch.Tensor:
    """Return the attention of every sequence's newest token.

    Args:
        query: (num_seqs, num_heads, head_size); float64 gives the oracle.
        key_cache: (num_blocks, block_size, num_kv_heads, head_size).
        value_cache: like ``key_cache``.
        block_table: (num_seqs, max_blocks), blocks of each sequence in order.
        lengths: (num_seqs,), tokens of each sequence, at least 1.

    Returns:
        (num_seqs, num_heads, head_size) in the dtype of ``query``.
    """
    kind = wide(query)
    num_heads, head_size = query.shape[1:]
    num_kv_heads = key_cache.shape[2]
    out = torch.empty_like(query)
    for seq, length in enumerate(lengths.tolist()):
        blocks = block_table[seq].long()
        key, value = (
            cache[blocks].flatten(0, 1)[:length].to(kind) for cache in (key_cache, value_cache)
        )
        heads = query[seq].to(kind).view(num_kv_heads, num_heads // num_kv_heads, head_size)
        weights = torch.softmax(torch.einsum("hgd,lhd->hgl", heads, key) * head_size**-0.5, dim=-1)
        attended = torch.einsum("hgl,lhd->hgd", weights, value)
        out[seq] = attended.reshape(num_heads, head_size).to(query.dtype)
    return out
