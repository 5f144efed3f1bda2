"""Switches that claim to be exact choose the baseline's tokens; each leaves its witness."""

from pathlib import Path
from typing import Any

import pytest

from arbor.targets.engine.server.errors import UnsupportedCombinationError
from arbor.targets.engine.trace import TraceRequest

from .tiny import EXACT_STACK, Document, Generate, MakeEngine, run_trace

SINGLE: list[tuple[str, str, Any, str]] = [
    ("application", "decode_batching", True, "decode.batched"),
    ("application", "max_num_seqs", 8, "decode.single"),
    ("application", "max_num_batched_tokens", 64, "decode.single"),
    ("application", "kv_capacity_tokens", 256, "decode.single"),
    ("application", "prefix_reuse", True, "prefix_cache.restored"),
    ("application", "sampler", "vectorised", "sampler.vectorised"),
    ("application", "sampler", "native", "sampler.native"),
    ("application", "stream_interval", 4, "delivery.gathered"),
    ("application", "admission", "shortest_first", "admission.shortest_first"),
    ("application", "admission", "longest_first", "admission.longest_first"),
    ("application", "speculation", "prompt_lookup", "speculation.looked_up"),
    ("framework", "masks", "static", "masks.static"),
    ("framework", "kv_cache", "preallocated", "kv_cache.preallocated"),
    ("framework", "attention", "sdpa", "attention.sdpa"),
    ("framework", "prefill_logits", "last", "prefill_logits.last"),
    ("framework", "rope", "table", "rope.table"),
    ("framework", "prefill_packing", True, "prefill.packed"),
    ("framework", "grad_mode", "inference_mode", "grad_mode.inference_mode"),
    ("kernel", "norm", "fused", "norm.fused"),
    ("kernel", "linear", "onednn_packed", "linear.float32_packed"),
    ("kernel", "fused_projections", True, "projections.fused"),
]


@pytest.mark.parametrize(("section", "name", "value", "witness"), SINGLE)
def test_a_switch_alone_keeps_the_tokens(
    *,
    section: str,
    name: str,
    value: Any,
    witness: str,
    make_engine: MakeEngine,
    generate: Generate,
    baseline_tokens: list[list[int]],
) -> None:
    engine = make_engine({section: {name: value}})
    assert generate(engine) == baseline_tokens
    assert engine.witness.counts[witness] > 0


@pytest.mark.parametrize("attention", ["manual", "sdpa"])
@pytest.mark.parametrize("cache", ["concatenated", "preallocated"])
@pytest.mark.parametrize("masks", ["built", "static"])
def test_batches_keep_the_tokens(
    attention: str, cache: str, masks: str, generate: Generate, baseline_tokens: list[list[int]]
) -> None:
    document = {
        "application": {"decode_batching": True, "max_num_seqs": 5, "prefix_reuse": True},
        "framework": {
            "attention": attention,
            "kv_cache": cache,
            "prefill_packing": True,
            "masks": masks,
        },
    }
    assert generate(document) == baseline_tokens


@pytest.mark.parametrize("attention", ["manual", "sdpa"])
def test_ragged_decode_steps_keep_the_tokens(
    attention: str, make_engine: MakeEngine, generate: Generate, baseline_tokens: list[list[int]]
) -> None:
    engine = make_engine(
        {
            "application": {"decode_batching": True, "max_num_seqs": 5},
            "framework": {
                "attention": attention,
                "kv_cache": "preallocated",
                "decode_layout": "ragged",
            },
        }
    )
    assert generate(engine) == baseline_tokens
    assert engine.witness.counts["decode_layout.ragged"] > 0
    assert f"attention.{attention}_padded" not in engine.witness.counts


@pytest.mark.parametrize("left_out", [(), ("kernel", "fused_projections"), ("kernel", "linear")])
def test_the_exact_stack_keeps_the_tokens(
    left_out: tuple[str, ...],
    make_engine: MakeEngine,
    generate: Generate,
    baseline_tokens: list[list[int]],
) -> None:
    document = {section: dict(entries) for section, entries in EXACT_STACK.items()}
    if left_out:
        del document[left_out[0]][left_out[1]]
    engine = make_engine(document)
    assert generate(engine) == baseline_tokens
    counts = engine.witness.counts
    assert {"attention.cpp", "norm.cpp", "activation.cpp", "rope_and_write.cpp"} <= set(counts)
    assert "attention.sdpa_padded" not in counts


# torch's own compiler imports what torch deprecates.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_pieces_keep_the_tokens(
    generate: Generate, make_engine: MakeEngine, baseline_tokens: list[list[int]]
) -> None:
    engine = make_engine({"compiler": {"compile": "pieces"}})
    assert generate(engine) == baseline_tokens
    assert engine.witness.counts["norm.composed_compiled"] > 0


@pytest.mark.parametrize("number_format", ["bfloat16", "int8"])
@pytest.mark.parametrize("batched", [False, True])
def test_number_formats_run_to_the_end(
    number_format: str,
    batched: bool,
    make_engine: MakeEngine,
    tiny_trace: tuple[TraceRequest, ...],
) -> None:
    engine = make_engine(
        {
            "application": {"decode_batching": batched},
            "framework": {"kv_cache": "preallocated"},
            "kernel": {"weights": number_format},
        }
    )
    sinks = run_trace(engine, tiny_trace)
    assert [len(sink.tokens) for sink in sinks] == [r.max_tokens for r in tiny_trace]
    assert engine.witness.counts[f"linear.{number_format}"] > 0
    assert "linear.float32" not in engine.witness.counts


def test_the_head_has_a_number_format_of_its_own(
    make_engine: MakeEngine, generate: Generate
) -> None:
    engine = make_engine({"kernel": {"weights": "bfloat16", "head_weights": "float32"}})
    generate(engine)
    assert engine.witness.counts["head.float32"] == engine.witness.counts["forward.eager"]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (
            {
                "framework": {"kv_cache": "preallocated"},
                "kernel": {"operators": "cpp", "weights": "bfloat16"},
            },
            "float32 rows, not bfloat16",
        ),
        ({"kernel": {"operators": "cpp"}}, "preallocated KV cache only"),
    ],
)
def test_native_operators_crash_on_what_they_cannot_do(
    document: Document, reason: str, generate: Generate
) -> None:
    with pytest.raises(UnsupportedCombinationError, match=reason):
        generate(document)


def test_the_native_operators_are_built_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_engine: MakeEngine
) -> None:
    monkeypatch.setenv("ARBOR_ENGINE_CACHE", str(tmp_path))
    document: Document = {
        "framework": {"kv_cache": "preallocated"},
        "kernel": {"operators": "cpp"},
    }
    make_engine(document)
    (library,) = tmp_path.iterdir()
    built = library.stat().st_mtime_ns
    make_engine(document)
    assert [path.stat().st_mtime_ns for path in tmp_path.iterdir()] == [built]
