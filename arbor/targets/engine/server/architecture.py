"""config.json of a Hugging Face Llama-style folder, as the numbers the decoder needs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbor.targets.engine.server.errors import ModelFolderError


@dataclass(frozen=True)
class Architecture:
    """Sizes of a decoder with grouped-query attention, RoPE, RMSNorm and SwiGLU."""

    vocab_size: int
    width: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    ffn_width: int
    max_positions: int
    norm_epsilon: float
    rope_theta: float
    tied_embeddings: bool
    eos_token_ids: tuple[int, ...]


def read_architecture(folder: Path) -> Architecture:
    """Read and check config.json.

    Raises:
        ModelFolderError: The folder or its config is missing, or asks for something else than a
            plain Llama decoder.
    """
    path = folder / "config.json"
    if not folder.is_dir():
        raise ModelFolderError(f"model folder {folder} does not exist")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFolderError(f"model folder {folder} has no readable config.json") from error
    except ValueError as error:
        raise ModelFolderError(f"{path} is not JSON: {error}") from error
    _refuse_unsupported(path, config)
    try:
        return _from_config(config)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFolderError(f"{path} lacks or misstates {error}") from error


def _refuse_unsupported(path: Path, config: Any) -> None:
    if not isinstance(config, dict):
        raise ModelFolderError(f"{path} is not a JSON object")
    names = config.get("architectures") or ["nothing"]
    if "LlamaForCausalLM" not in names:
        raise ModelFolderError(
            f"{path} names {', '.join(map(str, names))}; only LlamaForCausalLM is supported"
        )
    for key, plain in (("hidden_act", "silu"), ("attention_bias", False), ("mlp_bias", False)):
        if config.get(key, plain) != plain:
            raise ModelFolderError(
                f"{path}: {key} is {config[key]!r}; only {plain!r} is supported"
            )
    scaling = config.get("rope_scaling") or config.get("rope_parameters") or {}
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind != "default":
        raise ModelFolderError(f"{path}: rope type is {kind!r}; only 'default' is supported")


def _from_config(config: dict[str, Any]) -> Architecture:
    num_heads = int(config["num_attention_heads"])
    width = int(config["hidden_size"])
    eos = config.get("eos_token_id")
    eos_ids = eos if isinstance(eos, list) else [] if eos is None else [eos]
    rope = config.get("rope_parameters") or {}
    return Architecture(
        vocab_size=int(config["vocab_size"]),
        width=width,
        num_layers=int(config["num_hidden_layers"]),
        num_heads=num_heads,
        num_kv_heads=int(config.get("num_key_value_heads") or num_heads),
        head_dim=int(config.get("head_dim") or width // num_heads),
        ffn_width=int(config["intermediate_size"]),
        max_positions=int(config["max_position_embeddings"]),
        norm_epsilon=float(config.get("rms_norm_eps", 1e-6)),
        rope_theta=float(config.get("rope_theta") or rope.get("rope_theta") or 10_000.0),
        tied_embeddings=bool(config.get("tie_word_embeddings", False)),
        eos_token_ids=tuple(int(token) for token in eos_ids),
    )
