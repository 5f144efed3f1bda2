"""Masks of attention: built in every pass, or cut out of tables that were made once."""

from typing import Protocol

import torch
from torch import Tensor

from arbor.targets.engine.server.architecture import Architecture
from arbor.targets.engine.server.batch import Batch, Segment
from arbor.targets.engine.server.witness import Witness


class MaskSource(Protocol):
    """Who may look at what."""

    def visible(self, batch: Batch, segment: Segment) -> Tensor:
        """[rows of the segment, its context] true where a row may look."""

    def hidden(self, batch: Batch, segment: Segment) -> Tensor:
        """[rows of the segment, its context] true where a row may not look."""

    def padded(self, batch: Batch, dtype: torch.dtype) -> tuple[int, Tensor]:
        """Context length and additive mask [slots used, 1, 1, context] of a padded step."""


class BuiltMasks:
    """Built once per pass and shared by its layers."""

    def visible(self, batch: Batch, segment: Segment) -> Tensor:
        """The lower triangle."""
        return batch.causal_mask(segment)

    def hidden(self, batch: Batch, segment: Segment) -> Tensor:
        """The upper triangle."""
        return ~batch.causal_mask(segment)

    def padded(self, batch: Batch, dtype: torch.dtype) -> tuple[int, Tensor]:
        """Compared with the positions."""
        return batch.padded_mask(dtype)


class StaticMasks:
    """Tables [max positions, max positions], made at the start; a mask is a view or a gather."""

    def __init__(self, architecture: Architecture, dtype: torch.dtype, witness: Witness) -> None:
        size = architecture.max_positions
        self._visible = torch.ones(size, size, dtype=torch.bool).tril_()
        self._hidden = ~self._visible
        self._additive = torch.zeros(size, size, dtype=dtype)
        self._additive.masked_fill_(self._hidden, float("-inf"))
        self._witness = witness

    def visible(self, batch: Batch, segment: Segment) -> Tensor:  # noqa: ARG002 - as built ones
        """A view of the table."""
        self._witness.count("masks.static")
        return self._visible[segment.start : segment.stop, : segment.stop]

    def hidden(self, batch: Batch, segment: Segment) -> Tensor:  # noqa: ARG002 - as built ones
        """A view of the table."""
        self._witness.count("masks.static")
        return self._hidden[segment.start : segment.stop, : segment.stop]

    def padded(self, batch: Batch, dtype: torch.dtype) -> tuple[int, Tensor]:
        """Rows of the table, gathered once per pass."""
        self._witness.count("masks.static")
        return batch.padded_mask(dtype, self._additive)


def make_masks(
    kind: str, architecture: Architecture, dtype: torch.dtype, witness: Witness
) -> MaskSource:
    """The masks that serve.yaml asks for."""
    return StaticMasks(architecture, dtype, witness) if kind == "static" else BuiltMasks()
