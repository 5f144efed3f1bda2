"""Rotary position embedding (arXiv:2104.09864), halves rotated as in Hugging Face's Llama."""

from collections.abc import Callable

import torch
from torch import Tensor

from arbor.targets.engine.server.architecture import Architecture
from arbor.targets.engine.server.witness import Witness


def inverse_frequencies(architecture: Architecture) -> Tensor:
    """[head dim / 2] angle per position of each pair of dimensions, in radians."""
    half = torch.arange(0, architecture.head_dim, 2, dtype=torch.float32)
    return 1.0 / architecture.rope_theta ** (half / architecture.head_dim)


def cosine_and_sine(positions: Tensor, frequencies: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines [rows, 1, head dim] of the rows' angles, both halves alike."""
    angles = positions.to(torch.float32)[:, None] * frequencies
    angles = torch.cat((angles, angles), dim=-1)[:, None, :]
    return angles.cos(), angles.sin()


def rotate(rows: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotate [rows, heads, head dim] by the rows' angles."""
    first, second = rows.chunk(2, dim=-1)
    return rows * cosine + torch.cat((-second, first), dim=-1) * sine


class ComputedAngles:
    """Cosines and sines from the positions, anew in every pass."""

    def __init__(self, architecture: Architecture, dtype: torch.dtype, witness: Witness) -> None:
        self._frequencies = inverse_frequencies(architecture)
        self._dtype = dtype
        self._witness = witness

    def __call__(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """[rows] -> two of [rows, 1, head dim]."""
        self._witness.count("rope.computed")
        cosine, sine = cosine_and_sine(positions, self._frequencies)
        return cosine.to(self._dtype), sine.to(self._dtype)


class TabulatedAngles:
    """Cosines and sines of all positions, computed once and looked up."""

    def __init__(self, architecture: Architecture, dtype: torch.dtype, witness: Witness) -> None:
        positions = torch.arange(architecture.max_positions)
        cosine, sine = cosine_and_sine(positions, inverse_frequencies(architecture))
        self._table = (cosine.to(dtype), sine.to(dtype))
        self._witness = witness

    def __call__(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """[rows] -> two of [rows, 1, head dim]."""
        self._witness.count("rope.table")
        cosine, sine = self._table
        return cosine[positions], sine[positions]


AngleSource = Callable[[Tensor], tuple[Tensor, Tensor]]
