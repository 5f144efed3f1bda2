"""What a model folder's config.json tells: traits that actions ask for, vocabulary, lengths."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbor.events.errors import InvalidInputError
from arbor.targets.vllm.entry import ModelFacts, ModelTrait

_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_GROUPS = ("n_group", "num_expert_group")
_SHARED = ("n_shared_experts", "num_shared_experts", "shared_expert_intermediate_size")
_DRAFTS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")
_MEDIA = ("vision_config", "audio_config", "image_token_id", "image_token_index")
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")
_TOKENISERS = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json")


@dataclass(frozen=True, slots=True)
class Model:
    """A model folder.

    Attributes:
        path: the folder.
        facts: what the catalog asks of a model.
        vocab_size: tokens that prompts may be drawn from; None when the file does not say.
        max_positions: longest sequence; None when the file does not say.
    """

    path: Path
    facts: ModelFacts
    vocab_size: int | None
    max_positions: int | None


def read_model(path: Path, load_format: str, more_traits: tuple[ModelTrait, ...] = ()) -> Model:
    """Return what a folder holds.

    Args:
        path: the folder.
        load_format: vLLM's; ``dummy`` asks for no weights.
        more_traits: what config.json does not tell.

    Raises:
        InvalidInputError: it is no folder of a model; one line with the fix.
    """
    if not path.is_dir():
        raise InvalidInputError(
            f"model {path} is no folder; give a local one, nothing is fetched from a hub"
        )
    config_path = path / "config.json"
    try:
        config: Any = json.loads(config_path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(
            f"model {path} has no readable config.json ({error.strerror}); give a folder in the "
            "Hugging Face layout"
        ) from error
    except ValueError as error:
        raise InvalidInputError(f"{config_path} is no JSON: {error}") from error
    if not isinstance(config, dict):
        raise InvalidInputError(f"{config_path} holds no object")
    if load_format != "dummy" and not any(True for p in _WEIGHTS for _ in path.glob(p)):
        raise InvalidInputError(
            f"model {path} has no weights; set load_format: dummy to serve random ones"
        )
    text = _part(config, "text_config") or config
    return Model(
        path=path,
        facts=ModelFacts(traits=tuple(sorted({*_traits(config, text), *more_traits}))),
        vocab_size=_count(text, "vocab_size"),
        max_positions=_count(text, "max_position_embeddings"),
    )


def has_tokeniser(path: Path) -> bool:
    """Return whether a model folder holds a tokeniser."""
    return any((path / name).exists() for name in _TOKENISERS)


def _traits(config: dict[str, Any], text: dict[str, Any]) -> set[ModelTrait]:
    found: set[ModelTrait] = set()
    if _largest(text, _EXPERTS) > 1:
        found.add("moe")
    if _largest(text, _GROUPS) > 1:
        found.add("grouped_experts")
    if _largest(text, _SHARED) > 0:
        found.add("shared_experts")
    if _largest(text, _DRAFTS) > 0:
        found.add("mtp")
    if _largest(text, ("kv_lora_rank",)) > 0:
        found.add("mla")
    if any(config.get(name) is not None for name in _MEDIA):
        found.add("multimodal")
    return found | _weights(_part(config, "quantization_config") or {})


def _weights(quantisation: dict[str, Any]) -> set[ModelTrait]:
    """Return in what format the weights are, as far as the method's name or its groups tell."""
    said = json.dumps(quantisation).lower()
    method = str(quantisation.get("quant_method", "")).lower()
    if not quantisation:
        return set()
    if method in {"awq", "gptq", "awq_marlin", "gptq_marlin"}:
        return {"int4_weights"}
    if "fp4" in said:
        return {"fp4_weights"}
    if "fp8" in said or '"float-quantized"' in said:
        return {"fp8_weights"}
    if '"num_bits": 4' in said:
        return {"int4_weights"}
    return set()


def _part(config: dict[str, Any], name: str) -> dict[str, Any] | None:
    value = config.get(name)
    return value if isinstance(value, dict) else None


def _count(config: dict[str, Any], name: str) -> int | None:
    value = config.get(name)
    return value if isinstance(value, int) and value > 0 else None


def _largest(config: dict[str, Any], names: tuple[str, ...]) -> int:
    return max((_count(config, name) or 0 for name in names), default=0)
