"""The baseline decoder against a float64 decoder written from the papers' formulas."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.numpy import load_file

from arbor.targets.engine.server.elementwise import composed_norm, fused_norm, swiglu
from arbor.targets.engine.server.kv_cache import ConcatenatedCache
from arbor.targets.engine.server.native.operators import NativeOperators
from arbor.targets.engine.server.sequence import SamplingParameters, Sequence
from arbor.targets.engine.server.witness import Witness

from .tiny import TINY, ListSink, MakeEngine

Array = npt.NDArray[np.float64]


def _norm(rows: Array, weight: Array) -> Array:
    scaled: Array = rows / np.sqrt(np.mean(rows**2, axis=-1, keepdims=True) + 1e-5) * weight
    return scaled


def _rope(rows: Array) -> Array:
    """Rotate [tokens, heads, dim] as complex numbers, halves being real and imaginary parts."""
    half = rows.shape[2] // 2
    angles = np.outer(np.arange(len(rows)), 10_000.0 ** (-np.arange(half) / half))
    turned = (rows[..., :half] + 1j * rows[..., half:]) * np.exp(1j * angles)[:, None]
    return np.concatenate((turned.real, turned.imag), axis=-1)


def _reference_logits(folder: Path, tokens: list[int]) -> Array:
    """Logits [tokens, vocabulary] in float64."""
    w = {
        name: value.astype(np.float64)
        for name, value in load_file(folder / "model.safetensors").items()
    }
    count, dim, group = len(tokens), TINY.width // TINY.num_heads, 2
    rows = w["model.embed_tokens.weight"][tokens]
    future = np.triu(np.full((count, count), -np.inf), 1)
    for index in range(TINY.num_layers):
        part = f"model.layers.{index}."
        normed = _norm(rows, w[part + "input_layernorm.weight"])
        query, key, value = (
            (normed @ w[f"{part}self_attn.{name}_proj.weight"].T).reshape(count, -1, dim)
            for name in "qkv"
        )
        query, key = _rope(query), np.repeat(_rope(key), group, axis=1)
        value = np.repeat(value, group, axis=1)
        scores = np.einsum("thd,shd->hts", query, key) / np.sqrt(dim) + future
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = np.einsum("hts,shd->thd", shares, value).reshape(count, -1)
        rows = rows + mixed @ w[part + "self_attn.o_proj.weight"].T
        normed = _norm(rows, w[part + "post_attention_layernorm.weight"])
        gate = normed @ w[part + "mlp.gate_proj.weight"].T
        up = normed @ w[part + "mlp.up_proj.weight"].T
        rows = rows + (gate / (1 + np.exp(-gate)) * up) @ w[part + "mlp.down_proj.weight"].T
    logits: Array = _norm(rows, w["model.norm.weight"]) @ w["lm_head.weight"].T
    return logits


def test_prefill_gives_the_reference_logits(tiny_model: Path, make_engine: MakeEngine) -> None:
    engine = make_engine()
    tokens = np.random.default_rng(0).integers(TINY.vocab_size, size=41).tolist()
    sequence = Sequence(tokens, SamplingParameters(), 1, frozenset(), ListSink())
    engine.scheduler.add(sequence)
    engine.scheduler.admit()
    with torch.no_grad():
        (logits,) = engine.prefill_all_logits([sequence])
    np.testing.assert_allclose(logits, _reference_logits(tiny_model, tokens), atol=2e-3)


@pytest.mark.parametrize("num_rows", [1, 3, 63])
@pytest.mark.parametrize("width", [16, 100, 176])
def test_elementwise_operators_agree_in_every_writing(
    num_rows: int, width: int, make_engine: MakeEngine
) -> None:
    engine = make_engine()
    witness = Witness()
    cache = ConcatenatedCache(engine.architecture, witness)
    native = NativeOperators(engine.architecture, cache, witness)
    generator = torch.Generator().manual_seed(width)
    rows = torch.randn(num_rows, width, generator=generator)
    delta = torch.randn(num_rows, width, generator=generator)
    weight = torch.rand(width, generator=generator)
    exact = _norm(rows.double().numpy(), weight.double().numpy())
    for normed in (
        composed_norm(rows, weight, 1e-5),
        fused_norm(rows, weight, 1e-5),
        native.normalise(rows, weight),
    ):
        np.testing.assert_allclose(normed, exact, rtol=1e-5, atol=1e-6)
    gate = 30 * rows.double()
    gated = gate * torch.sigmoid(gate) * delta.double()
    for activated in (
        swiglu(30 * rows, delta),
        native.activate(30 * rows, delta),
        native.activate(*torch.split(torch.cat((30 * rows, delta), dim=1), width, dim=1)),
    ):
        torch.testing.assert_close(activated.double(), gated, rtol=1e-5, atol=1e-5)
    total, normed = native.add_and_normalise(rows.clone(), delta, weight)
    torch.testing.assert_close(total, rows + delta)
    torch.testing.assert_close(normed, composed_norm(rows + delta, weight, 1e-5))
