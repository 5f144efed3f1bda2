"""Weights of a Hugging Face Llama-style folder as tensors: one safetensors file or shards."""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from arbor.targets.engine.server.architecture import Architecture
from arbor.targets.engine.server.errors import ModelFolderError


@dataclass(frozen=True)
class LayerWeights:
    """One layer; every projection is [rows out, columns in], float32."""

    attention_norm: Tensor
    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor
    ffn_norm: Tensor
    gate: Tensor
    up: Tensor
    down: Tensor


@dataclass(frozen=True)
class ModelWeights:
    """A whole decoder; embedding and head are [vocabulary, width], float32."""

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Tensor


def read_weights(folder: Path, architecture: Architecture) -> ModelWeights:
    """Read all tensors of the folder and check their shapes.

    Raises:
        ModelFolderError: A file or tensor is missing, damaged or of a wrong shape.
    """
    tensors: dict[str, Tensor] = {}
    for path in _weight_files(folder):
        try:
            tensors.update(load_file(path))
        except (OSError, SafetensorError) as error:
            raise ModelFolderError(f"{path} cannot be read: {error}") from error

    def take(name: str, *shape: int) -> Tensor:
        tensor = tensors.get(name)
        if tensor is None:
            raise ModelFolderError(f"model folder {folder} has no tensor {name}")
        if tuple(tensor.shape) != shape:
            raise ModelFolderError(
                f"{name} in {folder} has shape {tuple(tensor.shape)}, config.json says {shape}"
            )
        return tensor.to(torch.float32)

    a = architecture
    embedding = take("model.embed_tokens.weight", a.vocab_size, a.width)
    query_width, kv_width = a.num_heads * a.head_dim, a.num_kv_heads * a.head_dim
    layers = []
    for index in range(a.num_layers):
        prefix = f"model.layers.{index}."
        layers.append(
            LayerWeights(
                attention_norm=take(prefix + "input_layernorm.weight", a.width),
                query=take(prefix + "self_attn.q_proj.weight", query_width, a.width),
                key=take(prefix + "self_attn.k_proj.weight", kv_width, a.width),
                value=take(prefix + "self_attn.v_proj.weight", kv_width, a.width),
                output=take(prefix + "self_attn.o_proj.weight", a.width, query_width),
                ffn_norm=take(prefix + "post_attention_layernorm.weight", a.width),
                gate=take(prefix + "mlp.gate_proj.weight", a.ffn_width, a.width),
                up=take(prefix + "mlp.up_proj.weight", a.ffn_width, a.width),
                down=take(prefix + "mlp.down_proj.weight", a.width, a.ffn_width),
            )
        )
    return ModelWeights(
        embedding=embedding,
        layers=tuple(layers),
        final_norm=take("model.norm.weight", a.width),
        head=embedding if a.tied_embeddings else take("lm_head.weight", a.vocab_size, a.width),
    )


def _weight_files(folder: Path) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        files = [folder / name for name in sorted(names)]
    else:
        files = [folder / "model.safetensors"]
    for path in files:
        if not path.is_file():
            raise ModelFolderError(f"model folder {folder} has no {path.name}")
    return files
