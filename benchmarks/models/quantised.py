"""Writes the eight-bit twin of a checkpoint, in the compressed-tensors layout that vLLM loads.

Weights of the layers' matrices are symmetric int8 with a scale for each row (output channel);
activations are quantised by the server, with a scale for each token. Embedding, norms and head
stay as they are.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from benchmarks.models.checkpoint import STAMP, ShardWriter, write_stamp

QUANTISED_SUFFIX = "_proj.weight"
_LARGEST = 127
_FILES = ("tokenizer.json", "tokenizer_config.json")


def quantise_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return int8 [rows, columns] and float32 scales [rows, 1]."""
    whole = weight.float()
    scale = (whole.abs().amax(dim=1, keepdim=True) / _LARGEST).clamp(min=1e-12)
    return (whole / scale).round().clamp(-_LARGEST, _LARGEST).to(torch.int8), scale


def quantization_config() -> dict[str, object]:
    """Return the section of config.json that tells the layout."""
    eight_bits = {"num_bits": 8, "type": "int", "symmetric": True}
    return {
        "quant_method": "compressed-tensors",
        "format": "int-quantized",
        "quantization_status": "compressed",
        "ignore": ["lm_head"],
        "config_groups": {
            "group_0": {
                "targets": ["Linear"],
                "weights": {**eight_bits, "strategy": "channel", "dynamic": False},
                "input_activations": {**eight_bits, "strategy": "token", "dynamic": True},
            }
        },
    }


def make_twin(source: Path, folder: Path) -> dict[str, float]:
    """Write the eight-bit twin of a checkpoint; return its figures.

    Args:
        source: folder that ``make_model`` completed.
        folder: takes the files; it may hold an unfinished try.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("model*.safetensors*"):
        path.unlink()
    writer = ShardWriter(folder)
    largest_error = 0.0
    for name, tensor in _tensors(source):
        if not name.endswith(QUANTISED_SUFFIX):
            writer.add(name, tensor)
            continue
        weight, scale = quantise_rows(tensor)
        error = (weight.float() * scale - tensor.float()).norm() / tensor.float().norm()
        largest_error = max(largest_error, float(error))
        writer.add(name, weight)
        writer.add(f"{name}_scale", scale)
    writer.close()
    for name in _FILES:
        shutil.copyfile(source / name, folder / name)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = quantization_config()
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    facts = {"num_bytes": float(writer.num_bytes), "largest_relative_error": largest_error}
    write_stamp(folder, twin_stamp(source), facts)
    return facts


def twin_stamp(source: Path) -> dict[str, object]:
    """Return what a twin is made from."""
    original = json.loads((source / STAMP).read_text(encoding="utf-8"))
    return {"twin_of": original["made_from"], "layout": quantization_config()}


def _tensors(folder: Path) -> Iterator[tuple[str, Tensor]]:
    for path in sorted(folder.glob("model-*.safetensors")):
        with safe_open(path, framework="pt") as shard:
            for name in shard.keys():  # noqa: SIM118 - it is no mapping
                yield name, shard.get_tensor(name)
