"""Writes a model as transformers and vLLM load it: config, tokenizer, shards and their index."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from benchmarks.models.bigrams import count_pairs, make_ends, perplexity
from benchmarks.models.corpus import library_texts, save_tokenizer, train_tokenizer
from benchmarks.models.layers import DEPTH_SHARE, SHARPNESS, layer_tensors
from benchmarks.models.shapes import Shape

SHARD_BYTES = 4 * 2**30
STAMP = "arbor_model.json"
"""Is written last: a folder without it is not complete."""
_CHECK_TOKENS = 20_000


class ShardWriter:
    """Writes tensors into shards of a folder.

    Attributes:
        num_bytes: of all tensors so far.
    """

    def __init__(self, folder: Path, shard_bytes: int = SHARD_BYTES) -> None:
        self._folder = folder
        self._shard_bytes = shard_bytes
        self._pending: dict[str, Tensor] = {}
        self._pending_bytes = 0
        self._shards: list[list[str]] = []
        self.num_bytes = 0

    def add(self, name: str, tensor: Tensor) -> None:
        """Take a tensor, which may write a shard."""
        size = tensor.numel() * tensor.element_size()
        if self._pending and self._pending_bytes + size > self._shard_bytes:
            self._flush()
        self._pending[name] = tensor.contiguous().cpu()
        self._pending_bytes += size
        self.num_bytes += size

    def close(self) -> None:
        """Write what is left, and the index."""
        if self._pending:
            self._flush()
        weight_map = {
            name: _shard_name(number)
            for number, names in enumerate(self._shards, 1)
            for name in names
        }
        index = {"metadata": {"total_size": self.num_bytes}, "weight_map": weight_map}
        path = self._folder / "model.safetensors.index.json"
        path.write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")

    def _flush(self) -> None:
        self._shards.append(list(self._pending))
        path = self._folder / _shard_name(len(self._shards))
        save_file(self._pending, path, metadata={"format": "pt"})
        self._pending = {}
        self._pending_bytes = 0


def _shard_name(number: int) -> str:
    return f"model-{number:05d}.safetensors"


def is_complete(folder: Path, stamp: object) -> bool:
    """Tell whether a folder holds what a stamp describes."""
    try:
        held = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(held.get("made_from") == stamp)


def write_stamp(folder: Path, stamp: object, facts: dict[str, float]) -> None:
    """Say that a folder is complete, of what, and with which figures."""
    body = {"made_from": stamp, **facts}
    (folder / STAMP).write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


def make_model(shape: Shape, folder: Path, seed: int, device: str = "cpu") -> dict[str, float]:
    """Make a model; return its figures.

    Args:
        shape: of the model.
        folder: takes the files; it may hold an unfinished try.
        seed: of everything random.
        device: where the tensors are computed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("model*.safetensors*"):
        path.unlink()
    texts = library_texts()
    tokenizer = train_tokenizer(texts, shape.known_tokens)
    save_tokenizer(tokenizer, folder, shape.max_tokens)
    ids = _encode(tokenizer, texts).to(device)
    held_out = ids[-_CHECK_TOKENS:]
    counts = count_pairs(ids[:-_CHECK_TOKENS], shape.known_tokens)
    ends = make_ends(counts, shape.vocab_size, shape.hidden, shape.rank, seed)
    generator = torch.Generator(device=device).manual_seed(seed)
    writer = ShardWriter(folder)

    def add(tensors: Iterable[tuple[str, Tensor]]) -> None:
        for name, tensor in tensors:
            writer.add(name, tensor.to(torch.bfloat16))

    add([("model.embed_tokens.weight", ends.embedding)])
    for layer in range(shape.num_layers):
        add(layer_tensors(shape, layer, ends.reserved, generator))
    norm = torch.ones(shape.hidden, device=device)
    add([("model.norm.weight", norm), ("lm_head.weight", ends.head)])
    writer.close()
    config = json.dumps(shape.config(), indent=2) + "\n"
    (folder / "config.json").write_text(config, encoding="utf-8")
    facts = {
        "num_parameters": float(shape.num_parameters()),
        "num_bytes": float(writer.num_bytes),
        "num_training_tokens": float(len(ids) - _CHECK_TOKENS),
        "held_out_perplexity_without_layers": perplexity(ends, held_out),
    }
    write_stamp(folder, stamp_of(shape, seed), facts)
    return facts


def stamp_of(shape: Shape, seed: int) -> dict[str, object]:
    """Return what a model is made from."""
    layers = {"depth_share": DEPTH_SHARE, "sharpness": SHARPNESS}
    return {"shape": shape.name, "config": shape.config(), "layers": layers, "seed": seed}


def _encode(tokenizer: Tokenizer, texts: list[str]) -> Tensor:
    def ids() -> Iterator[int]:
        for encoding in tokenizer.encode_batch_fast(texts):
            yield from encoding.ids
            yield 0

    return torch.tensor(list(ids()), dtype=torch.int64)
