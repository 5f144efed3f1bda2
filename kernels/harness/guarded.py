"""Tensors with guard bytes around them, which show writes that miss."""

from collections.abc import Sequence

import torch

_GUARD_BYTES = 256
"""Keeps the alignment that allocators give."""
_PATTERN = 0xA5


class Guarded:
    """A contiguous tensor in the middle of a patterned buffer.

    Attributes:
        tensor: the part that may be written.
    """

    def __init__(self, like: torch.Tensor) -> None:
        self._num_bytes = like.numel() * like.element_size()
        tail = _GUARD_BYTES + (-self._num_bytes) % 16
        size = _GUARD_BYTES + self._num_bytes + tail
        self._buffer = torch.full((size,), _PATTERN, dtype=torch.uint8, device=like.device)
        inside = self._buffer[_GUARD_BYTES : _GUARD_BYTES + self._num_bytes]
        self.tensor = inside.view(like.dtype).view(like.shape)

    def fill_nan(self) -> None:
        """Fill with NaN, or with the pattern where the dtype has none."""
        # all bits set is NaN in every floating-point format with NaN, and -1 in whole numbers
        start, end = _GUARD_BYTES, _GUARD_BYTES + self._num_bytes
        self._buffer[start:end] = 0x80 if "fnuz" in str(self.tensor.dtype) else 0xFF

    def is_intact(self) -> bool:
        """Return whether nothing was written around the tensor."""
        before, after = self._buffer[:_GUARD_BYTES], self._buffer[_GUARD_BYTES + self._num_bytes :]
        return bool((before == _PATTERN).all() and (after == _PATTERN).all())


def guarded_copies(tensors: Sequence[torch.Tensor]) -> list[Guarded]:
    """Return guarded copies of tensors."""
    copies = [Guarded(each) for each in tensors]
    for copy, source in zip(copies, tensors, strict=True):
        copy.tensor.copy_(source)
    return copies


def have_equal_bytes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether two contiguous tensors hold the same bits, NaN included."""
    return bool(torch.equal(a.view(-1).view(torch.uint8), b.view(-1).view(torch.uint8)))
