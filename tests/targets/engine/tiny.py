"""A tiny model's size, the stack of all exact switches, and an engine stepped by hand."""

from collections.abc import Callable, Iterable
from typing import Any

from arbor.targets.engine.model_folder import ModelSize
from arbor.targets.engine.server.engine import Engine
from arbor.targets.engine.server.sequence import SamplingParameters, Sequence
from arbor.targets.engine.trace import TraceRequest

Document = dict[str, dict[str, Any]]
MakeEngine = Callable[..., Engine]
Generate = Callable[..., list[list[int]]]

TINY = ModelSize(
    vocab_size=512,
    width=128,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    ffn_width=176,
    max_positions=256,
)

EXACT_STACK: Document = {
    "application": {
        "decode_batching": True,
        "max_num_seqs": 6,
        "prefix_reuse": True,
        "sampler": "vectorised",
    },
    "framework": {
        "kv_cache": "preallocated",
        "attention": "sdpa",
        "prefill_logits": "last",
        "rope": "table",
        "prefill_packing": True,
        "grad_mode": "inference_mode",
        "masks": "static",
    },
    "kernel": {"operators": "cpp", "linear": "onednn_packed", "fused_projections": True},
}


class ListSink:
    """Keeps what the engine hands out."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.reason: str | None = None
        self.num_pushes = 0

    def push(self, tokens: list[int], finish_reason: str | None) -> None:
        self.tokens.extend(tokens)
        self.reason = finish_reason
        self.num_pushes += 1

    def fail(self, message: str) -> None:
        raise AssertionError(message)


def step_to_the_end(engine: Engine) -> None:
    """Step until nothing runs or waits."""
    while engine.scheduler.running or engine.scheduler.waiting:
        for sink, tokens, reason in engine.step():
            sink.push(tokens, reason)


def run_trace(engine: Engine, trace: Iterable[TraceRequest]) -> list[ListSink]:
    """Queue all requests at once and step the engine until they are done."""
    sinks = []
    for request in trace:
        sinks.append(ListSink())
        parameters = SamplingParameters(
            temperature=request.temperature,
            top_k=request.top_k,
            top_p=request.top_p,
            repetition_penalty=request.repetition_penalty,
            seed=request.seed,
        )
        tokens = list(request.prompt)
        engine.scheduler.add(
            Sequence(tokens, parameters, request.max_tokens, frozenset(), sinks[-1])
        )
    step_to_the_end(engine)
    return sinks
