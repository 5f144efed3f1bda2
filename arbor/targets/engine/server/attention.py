"""Grouped-query attention over the KV cache, from matrix products or PyTorch's fused operator."""

import torch
import torch.nn.functional as F  # noqa: N812  the name of PyTorch's own documentation
from torch import Tensor

from arbor.targets.engine.server.batch import Batch, Segment
from arbor.targets.engine.server.kv_cache import KVCache, PreallocatedCache
from arbor.targets.engine.server.masks import MaskSource
from arbor.targets.engine.server.settings import FrameworkSettings
from arbor.targets.engine.server.witness import Witness


class TorchAttention:
    """Sequence by sequence, or padded in one call for a decode step on a preallocated cache."""

    def __init__(
        self, cache: KVCache, settings: FrameworkSettings, masks: MaskSource, witness: Witness
    ) -> None:
        self._cache = cache
        self._kind = settings.attention
        self._is_ragged = settings.decode_layout == "ragged"
        self._masks = masks
        self._witness = witness

    def __call__(self, layer: int, query: Tensor, batch: Batch) -> Tensor:
        """Attend with [rows, heads, head dim]; gives [rows, heads * head dim]."""
        is_step = batch.is_decode and len(batch.segments) > 1
        if is_step and self._is_ragged:
            self._witness.count("decode_layout.ragged")
        elif is_step and isinstance(self._cache, PreallocatedCache):
            self._witness.count(f"attention.{self._kind}_padded")
            return self._padded(self._cache, layer, query, batch)
        self._witness.count(f"attention.{self._kind}")
        attend = self._sdpa if self._kind == "sdpa" else self._manual
        parts = [
            attend(layer, query[part.row : part.row + part.length], part, batch)
            for part in batch.segments
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _manual(self, layer: int, query: Tensor, part: Segment, batch: Batch) -> Tensor:
        key, value = self._cache.context(layer, part)
        group = query.shape[1] // key.shape[0]
        key, value = key.repeat_interleave(group, dim=0), value.repeat_interleave(group, dim=0)
        scores = query.transpose(0, 1) @ key.transpose(1, 2) * query.shape[2] ** -0.5
        if part.length > 1:
            scores = scores.masked_fill(self._masks.hidden(batch, part), float("-inf"))
        mixed = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype) @ value
        return mixed.transpose(0, 1).reshape(part.length, -1)

    def _sdpa(self, layer: int, query: Tensor, part: Segment, batch: Batch) -> Tensor:
        key, value = self._cache.context(layer, part)
        is_fresh = part.start == 0 and part.length > 1
        mixed = F.scaled_dot_product_attention(
            query.transpose(0, 1)[None],
            key[None],
            value[None],
            attn_mask=self._masks.visible(batch, part) if part.start and part.length > 1 else None,
            is_causal=is_fresh,
            enable_gqa=True,
        )
        return mixed[0].transpose(0, 1).reshape(part.length, -1)

    def _padded(self, cache: PreallocatedCache, layer: int, query: Tensor, batch: Batch) -> Tensor:
        """All used slots at once; a KV head's group of query heads takes the row dimension."""
        rows, heads, dim = query.shape
        context, mask = self._masks.padded(batch, query.dtype)
        num_slots = mask.shape[0]
        key = cache.keys[layer][:num_slots, :, :context]
        value = cache.values[layer][:num_slots, :, :context]
        by_slot = query.new_zeros(num_slots, heads, dim)
        by_slot[batch.row_slots] = query
        grouped = by_slot.view(num_slots, key.shape[1], -1, dim)
        if self._kind == "sdpa":
            mixed = F.scaled_dot_product_attention(grouped, key, value, attn_mask=mask)
        else:
            scores = grouped @ key.transpose(2, 3) * dim**-0.5 + mask
            mixed = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype) @ value
        return mixed.reshape(num_slots, heads * dim)[batch.row_slots].view(rows, -1)
