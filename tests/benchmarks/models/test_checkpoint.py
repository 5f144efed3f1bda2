"""A whole small model on disk and its eight-bit twin."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from tokenizers import Tokenizer

from benchmarks.models.__main__ import main
from benchmarks.models.checkpoint import STAMP, ShardWriter
from benchmarks.models.quantised import quantise_rows
from benchmarks.models.shapes import SHAPES, Shape

TINY = SHAPES["qwen3-tiny"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model and its twin."""
    folder = tmp_path_factory.mktemp("models")
    words = [str(folder / "plain"), "--shape", TINY.name, "--int8", str(folder / "int8")]
    assert main(words) == 0
    return folder


def tensors(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield names and tensors through the index, as a loader finds them."""
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    for name, shard in index["weight_map"].items():
        with safe_open(folder / shard, framework="pt") as file:
            yield name, file.get_tensor(name)


def test_the_tensors_are_those_of_the_shape(made: Path) -> None:
    found = dict(tensors(made / "plain"))
    prefix = "model.layers.1"
    assert found[f"{prefix}.mlp.gate_proj.weight"].shape == (TINY.intermediate, TINY.hidden)
    assert found[f"{prefix}.self_attn.q_norm.weight"].shape == (TINY.head_dim,)
    assert found["lm_head.weight"].shape == (TINY.vocab_size, TINY.hidden)
    num_matrices = sum(1 for name in found if name.endswith("_proj.weight"))
    assert num_matrices == 7 * TINY.num_layers
    of_matrices = sum(t.numel() for t in found.values() if t.dim() == 2)
    assert of_matrices == TINY.num_parameters()


def test_layers_leave_the_reserved_directions_alone(made: Path) -> None:
    found = dict(tensors(made / "plain"))
    embedding = found["model.embed_tokens.weight"].float()
    # every token's row has the same part along the constant's direction: their mean shows it
    constant = embedding[: TINY.known_tokens].mean(dim=0)
    constant /= constant.norm()
    down = found["model.layers.0.mlp.down_proj.weight"].float()
    assert (constant @ down).norm() < 0.5 * down.norm() / TINY.hidden**0.5


def test_the_tokenizer_gives_a_text_back(made: Path) -> None:
    tokenizer = Tokenizer.from_file(str(made / "plain" / "tokenizer.json"))
    text = "def hello():\n    return 'wörld'\n"
    ids = tokenizer.encode(text).ids
    assert tokenizer.decode(ids) == text
    assert max(ids) < TINY.known_tokens


def test_the_twin_holds_rows_and_scales_and_the_rest_as_it_was(made: Path) -> None:
    plain, twin = dict(tensors(made / "plain")), dict(tensors(made / "int8"))
    for name, weight in plain.items():
        if not name.endswith("_proj.weight"):
            assert torch.equal(twin[name], weight), name
            continue
        scale = twin[f"{name}_scale"]
        assert twin[name].dtype == torch.int8
        assert scale.shape == (len(weight), 1)
        error = twin[name].float() * scale - weight.float()
        assert (error.abs() <= 0.5001 * scale).all(), name
    config = json.loads((made / "int8" / "config.json").read_text())
    assert config["quantization_config"]["config_groups"]["group_0"]["targets"] == ["Linear"]


def test_what_is_complete_is_not_made_again(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (made / "plain" / STAMP).stat().st_mtime_ns
    main([str(made / "plain"), "--shape", TINY.name, "--int8", str(made / "int8")])
    assert capsys.readouterr().out == ""
    assert (made / "plain" / STAMP).stat().st_mtime_ns == before


def test_another_seed_gives_another_model_in_place(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        main([str(tmp_path), "--shape", TINY.name, "--seed", seed])
        assert json.loads((tmp_path / STAMP).read_text())["made_from"]["seed"] == int(seed)


def test_shards_are_cut_by_their_size(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, shard_bytes=100)
    for number in range(5):
        writer.add(f"t{number}", torch.full((10,), float(number)))
    writer.close()
    assert len(list(tmp_path.glob("model-*.safetensors"))) == 3
    assert {name: int(t[0]) for name, t in tensors(tmp_path)} == {f"t{n}": n for n in range(5)}


def test_a_row_of_zeros_stays_one() -> None:
    whole, scale = quantise_rows(torch.zeros(2, 4))
    assert not (whole.float() * scale).any()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=str)
def test_shapes_fit_what_servers_ask(shape: Shape) -> None:
    assert shape.num_heads % shape.num_kv_heads == 0
    assert shape.known_tokens <= shape.vocab_size
    assert shape.rank <= shape.hidden - 2
