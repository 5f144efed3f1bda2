"""What config.json tells of a model."""

import json
from pathlib import Path
from typing import Any

import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.vllm.model_facts import has_tokeniser, read_model
from tests.fakes.fake_vllm.install import make_model


@pytest.mark.parametrize(
    ("fields", "traits"),
    [
        ({}, ()),
        ({"num_experts": 128, "n_shared_experts": 1}, ("moe", "shared_experts")),
        ({"n_routed_experts": 256, "n_group": 8, "kv_lora_rank": 512},
         ("grouped_experts", "mla", "moe")),
        ({"num_nextn_predict_layers": 1}, ("mtp",)),
        ({"vision_config": {}, "text_config": {"num_local_experts": 8}}, ("moe", "multimodal")),
        ({"quantization_config": {"quant_method": "fp8"}}, ("fp8_weights",)),
        ({"quantization_config": {"quant_method": "mxfp4"}}, ("fp4_weights",)),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, ("int4_weights",)),
        ({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {
            "g": {"weights": {"num_bits": 8, "type": "float"}}}, "format": "float-quantized"}},
         ("fp8_weights",)),
        ({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {
            "g": {"weights": {"num_bits": 4, "type": "int"}}}}}, ("int4_weights",)),
    ],
)  # fmt: skip
def test_traits(tmp_path: Path, fields: dict[str, Any], traits: tuple[str, ...]) -> None:
    assert read_model(make_model(tmp_path, **fields), "auto").facts.traits == traits


def test_sizes(tmp_path: Path) -> None:
    model = read_model(make_model(tmp_path, text_config={"vocab_size": 7}), "auto", ("mtp",))
    assert (model.vocab_size, model.max_positions) == (7, None)
    assert model.facts.traits == ("mtp",)
    assert has_tokeniser(model.path)


def test_weights_are_needed_unless_they_are_random(tmp_path: Path) -> None:
    path = make_model(tmp_path)
    (path / "model.safetensors").unlink()
    assert read_model(path, "dummy").vocab_size == 512
    with pytest.raises(InvalidInputError, match="has no weights; set load_format: dummy"):
        read_model(path, "auto")


@pytest.mark.parametrize(
    ("text", "message"), [("{", "is no JSON"), (json.dumps([1]), "holds no object")]
)
def test_files_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = make_model(tmp_path)
    (path / "config.json").write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_model(path, "auto")
    (path / "config.json").unlink()
    with pytest.raises(InvalidInputError, match=r"has no readable config\.json"):
        read_model(path, "auto")
