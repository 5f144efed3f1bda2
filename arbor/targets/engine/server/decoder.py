"""The forward pass: token rows in, normalised hidden rows out, logits by the head."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  the name of PyTorch's own documentation
from torch import Tensor

from arbor.targets.engine.server.architecture import Architecture
from arbor.targets.engine.server.batch import Batch
from arbor.targets.engine.server.checkpoint import LayerWeights, ModelWeights
from arbor.targets.engine.server.kv_cache import ConcatenatedCache, KVCache, PreallocatedCache
from arbor.targets.engine.server.layer_operators import make_layer_operators
from arbor.targets.engine.server.linear import Linear, make_linear
from arbor.targets.engine.server.settings import Settings
from arbor.targets.engine.server.witness import Witness

Projection = Callable[[Tensor], tuple[Tensor, ...]]


@dataclass
class Layer:
    """One decoder layer: products bound to their weights, and the norms' weights.

    Attributes:
        query_key_value: [rows, width] -> three of [rows, heads or kv heads, head dim].
        gate_up: [rows, width] -> two of [rows, ffn width].
    """

    attention_norm: Tensor
    query_key_value: Projection
    output: Linear
    ffn_norm: Tensor
    gate_up: Projection
    down: Linear


class Decoder:
    """A Llama-style decoder whose parts were chosen by serve.yaml."""

    def __init__(
        self,
        architecture: Architecture,
        weights: ModelWeights,
        settings: Settings,
        witness: Witness,
    ) -> None:
        is_half = settings.kernel.weights == "bfloat16"
        dtype = torch.bfloat16 if is_half else torch.float32
        self.is_whole = settings.compiler.compile == "whole"
        inner = Witness(silent=True) if self.is_whole else witness
        self._witness = witness
        self._embedding = weights.embedding.to(dtype)
        self._final_norm = weights.final_norm.to(dtype)
        self.layers = [_make_layer(architecture, w, settings, inner) for w in weights.layers]
        kernel = settings.kernel
        head_format = kernel.weights if kernel.head_weights == "same" else kernel.head_weights
        self._head_name = f"head.{head_format}"
        self.head_product: Linear = make_linear(weights.head, head_format, kernel.linear, witness)
        self.cache: KVCache = (
            ConcatenatedCache(architecture, inner)
            if settings.framework.kv_cache == "concatenated"
            else PreallocatedCache(architecture, settings.application.max_num_seqs, dtype, inner)
        )
        self.operators = make_layer_operators(architecture, settings, self.cache, dtype, inner)
        self._run: Callable[[Batch], Tensor] = self._forward
        if self.is_whole:
            self._run = torch.compile(self._forward, dynamic=True)
        self._pass_name = "forward.compiled_whole" if self.is_whole else "forward.eager"

    def forward(self, batch: Batch) -> Tensor:
        """Run the layers and write the cache; gives hidden rows [rows, width]."""
        self._witness.count(self._pass_name)
        return self._run(batch)

    def head(self, hidden: Tensor) -> Tensor:
        """Logits [rows, vocabulary] in float32."""
        self._witness.count(self._head_name)
        return self.head_product(hidden).to(torch.float32)

    def _forward(self, batch: Batch) -> Tensor:
        operators = self.operators
        operators.prepare(batch)
        rows = F.embedding(batch.tokens, self._embedding)
        normed = operators.normalise(rows, self.layers[0].attention_norm)
        next_norms = [layer.attention_norm for layer in self.layers[1:]] + [self._final_norm]
        for index, (layer, next_norm) in enumerate(zip(self.layers, next_norms, strict=True)):
            query, key, value = layer.query_key_value(normed)
            query = operators.place(index, query, key, value, batch)
            mixed = layer.output(operators.attend(index, query, batch))
            rows, normed = operators.add_and_normalise(rows, mixed, layer.ffn_norm)
            gate, up = layer.gate_up(normed)
            mixed = layer.down(operators.activate(gate, up))
            rows, normed = operators.add_and_normalise(rows, mixed, next_norm)
        return normed


def _make_layer(
    architecture: Architecture, weights: LayerWeights, settings: Settings, witness: Witness
) -> Layer:
    kernel = settings.kernel
    dtype = torch.bfloat16 if kernel.weights == "bfloat16" else torch.float32
    dim = architecture.head_dim

    def linear(weight: Tensor) -> Linear:
        return make_linear(weight, kernel.weights, kernel.linear, witness)

    attention_parts = (weights.query, weights.key, weights.value)
    ffn_parts = (weights.gate, weights.up)
    join = _fused if kernel.fused_projections else _separate
    flat = join(attention_parts, linear, witness)

    def query_key_value(rows: Tensor) -> tuple[Tensor, ...]:
        return tuple(part.view(len(part), -1, dim) for part in flat(rows))

    return Layer(
        attention_norm=weights.attention_norm.to(dtype),
        query_key_value=query_key_value,
        output=linear(weights.output),
        ffn_norm=weights.ffn_norm.to(dtype),
        gate_up=join(ffn_parts, linear, witness),
        down=linear(weights.down),
    )


def _fused(
    parts: tuple[Tensor, ...], linear: Callable[[Tensor], Linear], witness: Witness
) -> Projection:
    """One product for all parts, split afterwards."""
    product = linear(torch.cat(parts))
    widths = [part.shape[0] for part in parts]
    starts = [sum(widths[:index]) for index in range(len(widths))]

    def project(rows: Tensor) -> tuple[Tensor, ...]:
        witness.count("projections.fused")
        joined = product(rows)
        return tuple(
            joined.narrow(1, start, width) for start, width in zip(starts, widths, strict=True)
        )

    return project


def _separate(
    parts: tuple[Tensor, ...], linear: Callable[[Tensor], Linear], witness: Witness
) -> Projection:
    """One product for each part."""
    products = [linear(part) for part in parts]

    def project(rows: Tensor) -> tuple[Tensor, ...]:
        witness.count("projections.separate")
        return tuple(product(rows) for product in products)

    return project
