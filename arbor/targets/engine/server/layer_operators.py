"""What a layer does between its matrix products, in PyTorch or in C++."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from arbor.targets.engine.server import elementwise, rotary
from arbor.targets.engine.server.architecture import Architecture
from arbor.targets.engine.server.attention import TorchAttention
from arbor.targets.engine.server.batch import Batch
from arbor.targets.engine.server.kv_cache import KVCache
from arbor.targets.engine.server.masks import make_masks
from arbor.targets.engine.server.native.operators import NativeOperators
from arbor.targets.engine.server.settings import Settings
from arbor.targets.engine.server.witness import Witness


class LayerOperators(Protocol):
    """Norm, activation, position, cache write and attention."""

    def normalise(self, rows: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm of [rows, width]."""

    def add_and_normalise(
        self, rows: Tensor, delta: Tensor, weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The sum of two [rows, width] and its RMSNorm; may write into rows."""

    def activate(self, gate: Tensor, up: Tensor) -> Tensor:
        """SwiGLU of two [rows, ffn width]."""

    def prepare(self, batch: Batch) -> None:
        """What all layers of one pass share."""

    def place(self, layer: int, query: Tensor, key: Tensor, value: Tensor, batch: Batch) -> Tensor:
        """Rotate by position and write keys and values; gives the rotated query."""

    def attend(self, layer: int, query: Tensor, batch: Batch) -> Tensor:
        """[rows, heads, dim] -> [rows, heads * dim]."""


class TorchLayerOperators:
    """PyTorch operators, compiled piece by piece if asked for."""

    def __init__(
        self,
        architecture: Architecture,
        settings: Settings,
        cache: KVCache,
        dtype: torch.dtype,
        witness: Witness,
    ) -> None:
        self._witness = witness
        self.cache = cache
        self._epsilon = architecture.norm_epsilon
        is_fused = settings.kernel.norm == "fused"
        norm = elementwise.fused_norm if is_fused else elementwise.composed_norm
        pieces = settings.compiler.compile == "pieces"
        self._norm = _compiled(norm) if pieces else norm
        self._swiglu = _compiled(elementwise.swiglu) if pieces else elementwise.swiglu
        self._rotate = _compiled(rotary.rotate) if pieces else rotary.rotate
        suffix = "_compiled" if pieces else ""
        self._norm_name = f"norm.{settings.kernel.norm}{suffix}"
        self._swiglu_name = f"activation.torch{suffix}"
        is_table = settings.framework.rope == "table"
        source = rotary.TabulatedAngles if is_table else rotary.ComputedAngles
        self.angles: rotary.AngleSource = source(architecture, dtype, witness)
        self._angles: tuple[Tensor, Tensor] | None = None
        masks = make_masks(settings.framework.masks, architecture, dtype, witness)
        self.attention: Callable[[int, Tensor, Batch], Tensor] = TorchAttention(
            cache, settings.framework, masks, witness
        )

    def normalise(self, rows: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm of [rows, width]."""
        self._witness.count(self._norm_name)
        return self._norm(rows, weight, self._epsilon)

    def add_and_normalise(
        self, rows: Tensor, delta: Tensor, weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The sum and its RMSNorm."""
        total = rows + delta
        return total, self.normalise(total, weight)

    def activate(self, gate: Tensor, up: Tensor) -> Tensor:
        """SwiGLU of two [rows, ffn width]."""
        self._witness.count(self._swiglu_name)
        return self._swiglu(gate, up)

    def prepare(self, batch: Batch) -> None:
        """Cosines and sines of the rows."""
        self._angles = self.angles(batch.positions)

    def rotate(self, rows: Tensor) -> Tensor:
        """Rotate [rows, heads, dim] by the angles of this pass."""
        if self._angles is None:
            raise RuntimeError("rotate before prepare")
        return self._rotate(rows, *self._angles)

    def place(self, layer: int, query: Tensor, key: Tensor, value: Tensor, batch: Batch) -> Tensor:
        """Rotate query and key, write key and value."""
        self.cache.write(layer, self.rotate(key), value, batch)
        return self.rotate(query)

    def attend(self, layer: int, query: Tensor, batch: Batch) -> Tensor:
        """[rows, heads, dim] -> [rows, heads * dim]."""
        return self.attention(layer, query, batch)


class NativeLayerOperators:
    """C++ operators; prompts attend in PyTorch, where large matrix products pay."""

    def __init__(
        self, architecture: Architecture, settings: Settings, cache: KVCache, witness: Witness
    ) -> None:
        self._native = NativeOperators(architecture, cache, witness)
        masks = make_masks(settings.framework.masks, architecture, torch.float32, witness)
        self._prompt_attention = TorchAttention(cache, settings.framework, masks, witness)
        self.normalise = self._native.normalise
        self.add_and_normalise = self._native.add_and_normalise
        self.activate = self._native.activate
        self.place = self._native.rotate_and_write

    def prepare(self, batch: Batch) -> None:
        """Nothing is shared."""

    def attend(self, layer: int, query: Tensor, batch: Batch) -> Tensor:
        """[rows, heads, dim] -> [rows, heads * dim]."""
        if batch.is_step:
            return self._native.attend(layer, query, batch)
        return self._prompt_attention(layer, query, batch)


def make_layer_operators(
    architecture: Architecture,
    settings: Settings,
    cache: KVCache,
    dtype: torch.dtype,
    witness: Witness,
) -> LayerOperators:
    """The operators that serve.yaml asks for."""
    if settings.kernel.operators == "cpp":
        return NativeLayerOperators(architecture, settings, cache, witness)
    return TorchLayerOperators(architecture, settings, cache, dtype, witness)


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for any number of rows; dynamo is imported here and nowhere else."""
    return torch.compile(function, dynamic=True)
