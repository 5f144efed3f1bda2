"""The rows of one forward pass: which tokens of which sequences, and where they stand."""

from collections.abc import Sequence as Rows
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive rows of one sequence.

    Attributes:
        slot: the sequence's place in the KV cache.
        start: tokens of the sequence that are cached already, and so the first row's position.
        row: first row of the segment in the batch.
        length: number of rows.
    """

    slot: int
    start: int
    row: int
    length: int

    @property
    def stop(self) -> int:
        """Tokens of the sequence that are cached after this pass."""
        return self.start + self.length


class Batch:
    """Flat rows of one or more sequences, with what all layers share.

    Attributes:
        segments: one per sequence, in row order.
        tokens: [rows] token ids.
        positions: [rows] position of each row in its sequence.
        row_slots: [rows] KV slot of each row.
        is_decode: every segment has one row.
        is_step: the rows continue sequences, one each or a few: a decode step or checked drafts.
    """

    __slots__ = (
        "_padding",
        "_triangles",
        "is_decode",
        "is_step",
        "positions",
        "row_slots",
        "segments",
        "tokens",
    )

    def __init__(self, parts: Rows[tuple[int, int, Rows[int]]], *, is_step: bool = False) -> None:
        """Lay out (slot, tokens cached already, new tokens) triples one after the other."""
        tokens: list[int] = []
        positions: list[int] = []
        slots: list[int] = []
        self.segments: list[Segment] = []
        for slot, start, new in parts:
            count = len(new)
            self.segments.append(Segment(slot, start, len(tokens), count))
            tokens.extend(new)
            positions.extend(range(start, start + count))
            slots.extend([slot] * count)
        self.tokens = torch.tensor(tokens)
        self.positions = torch.tensor(positions)
        self.row_slots = torch.tensor(slots)
        self.is_decode = len(tokens) == len(self.segments)
        self.is_step = is_step or self.is_decode
        self._triangles: dict[tuple[int, int], Tensor] = {}
        self._padding: tuple[int, Tensor] | None = None

    def last_rows(self) -> Tensor:
        """[sequences] index of each segment's last row."""
        return torch.tensor([part.row + part.length - 1 for part in self.segments])

    def causal_mask(self, segment: Segment) -> Tensor:
        """[rows of the segment, its context] true where a row may look; shared by all layers."""
        key = (segment.length, segment.stop)
        mask = self._triangles.get(key)
        if mask is None:
            mask = torch.ones(key, dtype=torch.bool).tril_(segment.start)
            self._triangles[key] = mask
        return mask

    def padded_mask(self, dtype: torch.dtype, table: Tensor | None = None) -> tuple[int, Tensor]:
        """Context length and additive mask [slots used, 1, 1, context] of a padded decode step.

        Slots below the highest used one that take no part see position 0 alone, so that their
        rows stay finite; nobody reads them. A table [max positions, max positions] holds the
        masks of all positions already.
        """
        if self._padding is None:
            num_slots = max(part.slot for part in self.segments) + 1
            context = max(part.stop for part in self.segments)
            last = torch.zeros(num_slots, dtype=torch.long)
            last[self.row_slots] = self.positions
            if table is None:
                hidden = torch.arange(context) > last[:, None]
                mask = torch.zeros(num_slots, context, dtype=dtype)
                mask.masked_fill_(hidden, float("-inf"))
            else:
                mask = table[:, :context].index_select(0, last)
            self._padding = (context, mask[:, None, None, :])
        return self._padding
