"""The synthetic folder: seeded, cached, planted; and folders that cannot be loaded."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from arbor.targets.engine.model_folder import (
    SUCCESSOR_PROBABILITIES,
    ModelSize,
    create_synthetic_model,
    inspect_model,
    planted_successors,
)
from arbor.targets.engine.server.checkpoint import read_weights
from arbor.targets.engine.server.engine import Engine
from arbor.targets.engine.server.errors import ModelFolderError
from arbor.targets.engine.server.scoring import ScoreRequest, score
from arbor.targets.engine.server.settings import Settings
from arbor.targets.engine.trace import build_trace

from .tiny import TINY


def test_the_same_seed_is_kept_and_another_one_replaces_it(tmp_path: Path) -> None:
    path = create_synthetic_model(tmp_path / "model", seed=1, size=TINY)
    weights = path / "model.safetensors"
    written, content = weights.stat().st_ino, weights.read_bytes()
    create_synthetic_model(path, seed=1, size=TINY)
    assert weights.stat().st_ino == written
    create_synthetic_model(path, seed=2, size=TINY)
    assert weights.read_bytes() != content
    create_synthetic_model(path, seed=1, size=TINY)
    assert weights.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_foreign_files_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="holds no synthetic model"):
        create_synthetic_model(tmp_path, seed=1, size=TINY)


def test_the_planted_structure_is_what_the_model_predicts(tmp_path: Path) -> None:
    size = ModelSize(num_layers=1, vocab_size=2048)
    path = create_synthetic_model(tmp_path / "model", seed=4, size=size)
    successors = planted_successors(path)
    assert successors is not None
    trace = build_trace(0, num_requests=8, vocab_size=2048, successors=successors)
    engine = Engine(path, Settings())
    results = score(engine, ScoreRequest(tuple(r.prompt for r in trace)))["results"]
    # The first of a walk and the step from the shared prefix to the own tokens are not planted.
    logprobs = np.concatenate([result["logprobs"][64:] for result in results])
    planted = np.asarray(SUCCESSOR_PROBABILITIES)
    entropy = float(-(planted * np.log(planted)).sum())
    assert abs(float(np.median(-logprobs)) - entropy) < 0.6
    hits = [
        guess == actual
        for result, request in zip(results, trace, strict=True)
        for guess, actual in zip(result["top1"][64:], request.prompt[65:], strict=True)
    ]
    assert 0.35 < np.mean(hits) < 0.6


def test_shards_and_half_precision_load_like_one_file(tiny_model: Path, tmp_path: Path) -> None:
    tensors = load_file(tiny_model / "model.safetensors")
    names = sorted(tensors)
    shards = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, part in shards.items():
        save_file({name: tensors[name].to(torch.bfloat16) for name in part}, tmp_path / file)
    index = {"weight_map": {name: file for file, part in shards.items() for name in part}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (tmp_path / "config.json").write_bytes((tiny_model / "config.json").read_bytes())
    architecture = inspect_model(tmp_path)
    whole = read_weights(tiny_model, architecture)
    sharded = read_weights(tmp_path, architecture)
    assert sharded.head.dtype is torch.float32
    torch.testing.assert_close(sharded.head, whole.head, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"architectures": ["MixtralForCausalLM"]}, "only LlamaForCausalLM is supported"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'; only 'silu' is supported"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "rope type is 'llama3'; only 'default'"),
        ({"hidden_size": None}, "lacks or misstates"),
    ],
)
def test_unsupported_configs_are_refused(
    change: dict[str, Any], line: str, tiny_model: Path, tmp_path: Path
) -> None:
    config = json.loads((tiny_model / "config.json").read_text(encoding="utf-8")) | change
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelFolderError, match=line):
        inspect_model(tmp_path)


def test_incomplete_folders_are_refused(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="does not exist"):
        inspect_model(tmp_path / "nowhere")
    with pytest.raises(ModelFolderError, match="no readable config"):
        inspect_model(tmp_path)
    architecture = inspect_model(tiny_model)
    with pytest.raises(ModelFolderError, match=r"has no model\.safetensors"):
        read_weights(tmp_path, architecture)
    tensors = load_file(tiny_model / "model.safetensors")
    save_file({"lm_head.weight": tensors["lm_head.weight"]}, tmp_path / "model.safetensors")
    with pytest.raises(ModelFolderError, match=r"no tensor model\.embed_tokens\.weight"):
        read_weights(tmp_path, architecture)
    (tmp_path / "model.safetensors").write_bytes(b"not a file of tensors")
    with pytest.raises(ModelFolderError, match="cannot be read"):
        read_weights(tmp_path, architecture)
