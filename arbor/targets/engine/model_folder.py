"""A seeded Hugging Face Llama-style model folder with a planted next-token structure.

Every token has four successors of known probability that the head reads out of the token's own
embedding; the layers add a bounded disturbance. So margins look like a trained model's, the
negative log-likelihood and top-1 of text that follows the plan are known, and bad quantisation
shows, without any download. Only numpy and safetensors are needed here.
"""

import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from arbor.targets.engine.server.architecture import Architecture, read_architecture

SUCCESSOR_PROBABILITIES = (0.5, 0.25, 0.15, 0.1)

_PLAN_FILE = "arbor_plan.json"
# Raised whenever the same seed would give other weights, so that a cached folder is rebuilt.
_FORMAT = 4
# Logit of a successor of probability one: what 16,384 crosstalk logits sum to is a tenth of it.
_READOUT_LOGIT = 15.0
# Root mean square of what one sublayer adds to a residual stream of root mean square one.
_SUBLAYER_RMS = 0.08

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ModelSize:
    """Sizes of a synthetic decoder; the default is the engine's model B (13 M parameters)."""

    vocab_size: int = 16_384
    width: int = 256
    num_layers: int = 6
    num_heads: int = 4
    num_kv_heads: int = 2
    ffn_width: int = 704
    max_positions: int = 1024


def create_synthetic_model(path: Path, seed: int, size: ModelSize | None = None) -> Path:
    """Write the model folder, or keep it if the same seed and size are there already.

    Written beside the path and renamed, so an interrupted build leaves no half folder.

    Args:
        path: Folder to create; an existing synthetic folder of another seed is replaced.
        seed: Decides every weight and the successor table.
        size: Sizes of the decoder; model B if left out.

    Returns:
        The path.

    Raises:
        FileExistsError: The path holds something that is not a synthetic model.
    """
    size = size or ModelSize()
    plan = {"format": _FORMAT, "seed": seed, "size": asdict(size)}
    if _read_plan(path) == plan:
        return path
    if path.exists() and any(path.iterdir()) and not (path / _PLAN_FILE).is_file():
        raise FileExistsError(f"{path} is not empty and holds no synthetic model")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as beside:
        building = Path(beside) / path.name
        building.mkdir()
        save_file(_weights(seed, size), building / "model.safetensors", metadata={"format": "pt"})
        config = json.dumps(_config(size), indent=2)
        (building / "config.json").write_text(config, encoding="utf-8")
        (building / _PLAN_FILE).write_text(json.dumps(plan), encoding="utf-8")
        if path.exists():
            shutil.rmtree(path)
        building.replace(path)
    return path


def inspect_model(path: Path) -> Architecture:
    """Check that the engine can load the folder.

    Raises:
        ModelFolderError: One line that says what is missing or unsupported.
    """
    return read_architecture(path)


def planted_successors(path: Path) -> npt.NDArray[np.int64] | None:
    """The table [vocabulary, 4] of successors, likeliest first; None for a downloaded model."""
    plan = _read_plan(path)
    if plan is None:
        return None
    return _successors(plan["seed"], plan["size"]["vocab_size"])


def _read_plan(path: Path) -> dict[str, Any] | None:
    try:
        plan: dict[str, Any] = json.loads((path / _PLAN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return plan


def _successors(seed: int, vocab_size: int) -> npt.NDArray[np.int64]:
    """Four permutations of the vocabulary that give no token the same successor twice."""
    generator = np.random.default_rng([seed, 1])
    columns: list[npt.NDArray[np.int64]] = []
    for _ in SUCCESSOR_PROBABILITIES:
        column = generator.permutation(vocab_size).astype(np.int64)
        while True:
            clashes = [np.flatnonzero(column == earlier) for earlier in columns]
            clashing = np.unique(np.concatenate([np.empty(0, np.int64), *clashes]))
            if not clashing.size:
                break
            for token in clashing:
                other = generator.integers(vocab_size)
                column[[token, other]] = column[[other, token]]
        columns.append(column)
    return np.stack(columns, axis=1)


def _weights(seed: int, size: ModelSize) -> dict[str, Array]:
    generator = np.random.default_rng([seed, 2])

    def normal(rows: int, columns: int, scale: float) -> Array:
        drawn = generator.standard_normal((rows, columns), dtype=np.float32)
        return drawn * np.float32(scale)

    width, ffn = size.width, size.ffn_width
    kv_width = width // size.num_heads * size.num_kv_heads
    embedding = normal(size.vocab_size, width, 1.0)
    embedding /= np.sqrt(np.mean(np.square(embedding), axis=1, keepdims=True))
    ones = np.ones(width, dtype=np.float32)
    tensors = {
        "model.embed_tokens.weight": embedding,
        "model.norm.weight": ones,
        "lm_head.weight": _readout(embedding, _successors(seed, size.vocab_size)),
    }
    unit = width**-0.5
    for index in range(size.num_layers):
        prefix = f"model.layers.{index}."
        tensors |= {
            prefix + "input_layernorm.weight": ones.copy(),
            prefix + "self_attn.q_proj.weight": normal(width, width, unit),
            prefix + "self_attn.k_proj.weight": normal(kv_width, width, unit),
            prefix + "self_attn.v_proj.weight": normal(kv_width, width, unit),
            # Attention averages about eight values of root mean square one: rms 0.35.
            prefix + "self_attn.o_proj.weight": normal(width, width, unit * _SUBLAYER_RMS / 0.35),
            prefix + "post_attention_layernorm.weight": ones.copy(),
            prefix + "mlp.gate_proj.weight": normal(ffn, width, unit),
            prefix + "mlp.up_proj.weight": normal(ffn, width, unit),
            # SiLU of a unit normal times a unit normal has rms 0.6.
            prefix + "mlp.down_proj.weight": normal(width, ffn, ffn**-0.5 * _SUBLAYER_RMS / 0.6),
        }
    return tensors


def _readout(embedding: Array, successors: npt.NDArray[np.int64]) -> Array:
    """Head rows [vocabulary, width] that give a token's four predecessors their planted logits.

    A row is the shortest one that does so: a combination of the predecessors' embeddings, solved
    so that they do not disturb each other.
    """
    # The columns are permutations: sorting one lists the predecessors in token order.
    predecessors = np.argsort(successors, axis=0, kind="stable")
    basis = embedding[predecessors]
    gram = np.einsum("vid,vjd->vij", basis, basis, optimize=True).astype(np.float64)
    wanted = _READOUT_LOGIT + np.log(SUCCESSOR_PROBABILITIES)
    shares = np.linalg.solve(gram, np.tile(wanted[:, None], (len(gram), 1, 1)))
    head: Array = np.einsum("vi,vid->vd", shares[..., 0].astype(np.float32), basis)
    return head


def _config(size: ModelSize) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": size.vocab_size,
        "hidden_size": size.width,
        "num_hidden_layers": size.num_layers,
        "num_attention_heads": size.num_heads,
        "num_key_value_heads": size.num_kv_heads,
        "intermediate_size": size.ffn_width,
        "max_position_embeddings": size.max_positions,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 10_000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": None,
        "eos_token_id": None,
        "torch_dtype": "float32",
    }
