"""Reuse of the keys and values of prompts that begin alike, in blocks of sixteen tokens."""

from collections import OrderedDict
from typing import TYPE_CHECKING

from arbor.targets.engine.server.kv_cache import KVCache

if TYPE_CHECKING:
    from torch import Tensor

BLOCK_TOKENS = 16

_CAPACITY_BLOCKS = 1024

# A block's key: its parent's key and its own tokens, so equal keys mean equal prefixes.
BlockKey = tuple[int, tuple[int, ...]]


class PrefixCache:
    """Least recently used blocks of finished prefills."""

    def __init__(self, cache: KVCache) -> None:
        self._cache = cache
        self._blocks: OrderedDict[BlockKey, Tensor] = OrderedDict()
        self.num_query_tokens = 0
        self.num_hit_tokens = 0

    def restore(self, slot: int, tokens: list[int]) -> int:
        """Fill the slot with the longest known prefix; at least one token is left to compute.

        Returns:
            Tokens restored.
        """
        found = []
        for key in self._keys(tokens[: len(tokens) - 1]):
            block = self._blocks.get(key)
            if block is None:
                break
            self._blocks.move_to_end(key)
            found.append(block)
        self.num_query_tokens += len(tokens)
        self.num_hit_tokens += len(found) * BLOCK_TOKENS
        if found:
            self._cache.copy_in(slot, found)
        return len(found) * BLOCK_TOKENS

    def store(self, slot: int, tokens: list[int]) -> None:
        """Copy the slot's unknown blocks out; the slot holds all of the tokens."""
        keys = self._keys(tokens)
        known = 0
        while known < len(keys) and keys[known] in self._blocks:
            known += 1
        if known == len(keys):
            return
        start, stop = known * BLOCK_TOKENS, len(keys) * BLOCK_TOKENS
        copied = self._cache.copy_out(slot, start, stop)
        for index, key in enumerate(keys[known:]):
            self._blocks[key] = copied.narrow(3, index * BLOCK_TOKENS, BLOCK_TOKENS)
        while len(self._blocks) > _CAPACITY_BLOCKS:
            self._blocks.popitem(last=False)

    def is_known(self, tokens: list[int]) -> bool:
        """Whether the first block of the tokens can be restored."""
        keys = self._keys(tokens[:BLOCK_TOKENS])
        return bool(keys) and keys[0] in self._blocks

    def clear(self) -> None:
        """Forget every block; the statistics stay."""
        self._blocks.clear()

    def __len__(self) -> int:
        return len(self._blocks)

    @staticmethod
    def _keys(tokens: list[int]) -> list[BlockKey]:
        keys = []
        parent = 0
        for start in range(0, len(tokens) - BLOCK_TOKENS + 1, BLOCK_TOKENS):
            key = (parent, tuple(tokens[start : start + BLOCK_TOKENS]))
            keys.append(key)
            parent = hash(key)
        return keys
