"""Keys and values of running sequences: grown by concatenation, or written in place."""

from typing import Protocol

import torch
from torch import Tensor

from arbor.targets.engine.server.architecture import Architecture
from arbor.targets.engine.server.batch import Batch, Segment
from arbor.targets.engine.server.witness import Witness


class KVCache(Protocol):
    """Keys and values by layer and slot."""

    def write(self, layer: int, key: Tensor, value: Tensor, batch: Batch) -> None:
        """Append rows [rows, kv heads, head dim] of the batch to their sequences."""

    def context(self, layer: int, segment: Segment) -> tuple[Tensor, Tensor]:
        """Keys and values [kv heads, context, head dim] of one sequence after the write."""

    def copy_out(self, slot: int, start: int, stop: int) -> Tensor:
        """Copy [layers, 2, kv heads, stop - start, head dim] out of a sequence."""

    def copy_in(self, slot: int, blocks: list[Tensor]) -> None:
        """Start a sequence with blocks that were copied out of another one."""

    def truncate(self, slot: int, length: int) -> None:
        """Forget what a sequence wrote beyond so many tokens."""

    def release(self, slot: int) -> None:
        """Forget the slot's sequence."""


class ConcatenatedCache:
    """One tensor per sequence and layer, replaced by a longer one at every step."""

    def __init__(self, architecture: Architecture, witness: Witness) -> None:
        self._num_layers = architecture.num_layers
        self._witness = witness
        self._entries: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def write(self, layer: int, key: Tensor, value: Tensor, batch: Batch) -> None:
        """Concatenate the new rows behind the old ones."""
        self._witness.count("kv_cache.concatenated")
        for part in batch.segments:
            rows = slice(part.row, part.row + part.length)
            new_key, new_value = key[rows].transpose(0, 1), value[rows].transpose(0, 1)
            if part.start:
                old_key, old_value = self._entries[layer, part.slot]
                new_key = torch.cat((old_key, new_key), dim=1)
                new_value = torch.cat((old_value, new_value), dim=1)
            self._entries[layer, part.slot] = (new_key, new_value)

    def context(self, layer: int, segment: Segment) -> tuple[Tensor, Tensor]:
        """The sequence's own tensors."""
        return self._entries[layer, segment.slot]

    def copy_out(self, slot: int, start: int, stop: int) -> Tensor:
        """Stack the layers' slices."""
        pairs = (self._entries[layer, slot] for layer in range(self._num_layers))
        return torch.stack(
            [torch.stack((key[:, start:stop], value[:, start:stop])) for key, value in pairs]
        )

    def copy_in(self, slot: int, blocks: list[Tensor]) -> None:
        """Join the blocks, layer by layer."""
        joined = torch.cat(blocks, dim=3)
        for layer in range(self._num_layers):
            self._entries[layer, slot] = (joined[layer, 0], joined[layer, 1])

    def truncate(self, slot: int, length: int) -> None:
        """Keep views of the beginnings."""
        for layer in range(self._num_layers):
            key, value = self._entries[layer, slot]
            self._entries[layer, slot] = (key[:, :length], value[:, :length])

    def release(self, slot: int) -> None:
        """Drop the slot's tensors."""
        for layer in range(self._num_layers):
            self._entries.pop((layer, slot), None)


class PreallocatedCache:
    """One tensor for all: [layers, 2, slots, kv heads, max positions, head dim]."""

    def __init__(
        self, architecture: Architecture, num_slots: int, dtype: torch.dtype, witness: Witness
    ) -> None:
        self._witness = witness
        self.storage = torch.zeros(
            architecture.num_layers,
            2,
            num_slots,
            architecture.num_kv_heads,
            architecture.max_positions,
            architecture.head_dim,
            dtype=dtype,
        )
        self.keys = [layer[0] for layer in self.storage]
        self.values = [layer[1] for layer in self.storage]

    def write(self, layer: int, key: Tensor, value: Tensor, batch: Batch) -> None:
        """Write the new rows to their places."""
        self._witness.count("kv_cache.preallocated")
        if batch.is_decode and len(batch.segments) > 1:
            place = (batch.row_slots, slice(None), batch.positions)
            self.keys[layer][place] = key
            self.values[layer][place] = value
            return
        for part in batch.segments:
            rows = slice(part.row, part.row + part.length)
            span = slice(part.start, part.stop)
            self.keys[layer][part.slot, :, span] = key[rows].transpose(0, 1)
            self.values[layer][part.slot, :, span] = value[rows].transpose(0, 1)

    def context(self, layer: int, segment: Segment) -> tuple[Tensor, Tensor]:
        """Views of the sequence's part."""
        key = self.keys[layer][segment.slot, :, : segment.stop]
        return key, self.values[layer][segment.slot, :, : segment.stop]

    def copy_out(self, slot: int, start: int, stop: int) -> Tensor:
        """One copy over all layers."""
        return self.storage[:, :, slot, :, start:stop].clone()

    def copy_in(self, slot: int, blocks: list[Tensor]) -> None:
        """Write the blocks to the slot's beginning."""
        start = 0
        for block in blocks:
            stop = start + block.shape[3]
            self.storage[:, :, slot, :, start:stop] = block
            start = stop

    def truncate(self, slot: int, length: int) -> None:
        """Nothing to do: the next rows overwrite what is beyond."""

    def release(self, slot: int) -> None:
        """Nothing to do: the next sequence overwrites the slot."""
