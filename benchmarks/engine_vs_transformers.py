"""The embedded engine beside Hugging Face transformers: same weights, same trace, one thread.

Rounds go through all contestants in turn and each figure is the median of its rounds, so a slow
minute of the machine meets everybody.
"""

import argparse
import contextlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from table import Row, at_least, publish
from transformers import LlamaForCausalLM

from arbor.targets.engine.model_folder import create_synthetic_model, planted_successors
from arbor.targets.engine.server.engine import Engine
from arbor.targets.engine.server.sequence import SamplingParameters
from arbor.targets.engine.server.sequence import Sequence as Running
from arbor.targets.engine.server.settings import parse_settings
from arbor.targets.engine.trace import TraceRequest, build_trace
from arbor.targets.openai_client import run_load

STATIC_BATCH = 4

EXACT: dict[str, dict[str, Any]] = {
    "application": {
        "decode_batching": True,
        "max_num_seqs": 24,
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
    },
    "kernel": {"operators": "cpp", "fused_projections": True, "linear": "onednn_packed"},
}
INT8 = EXACT | {"kernel": EXACT["kernel"] | {"weights": "int8"}}

Trace = tuple[TraceRequest, ...]
# Plays a trace and gives useful output tokens per second.
Contestant = Callable[[Trace], float]


class Silence:
    """Takes the tokens of sequences that nobody listens to."""

    def push(self, tokens: list[int], finish_reason: str | None) -> None:
        """Ignore the tokens."""

    def fail(self, message: str) -> None:
        """Raise, since nothing may fail here."""
        raise RuntimeError(message)


def transformers_one_by_one(model: LlamaForCausalLM, trace: Trace) -> float:
    """`generate` request by request, as different sampling parameters demand."""
    started_s = time.perf_counter()
    for request in trace:
        torch.manual_seed(request.seed)
        sampling: dict[str, Any] = {"do_sample": False}
        if request.temperature:
            sampling = {
                "do_sample": True,
                "temperature": request.temperature,
                "top_k": request.top_k,
                "top_p": request.top_p,
            }
        _generate(
            model,
            [request.prompt],
            request.max_tokens,
            **sampling,
            repetition_penalty=request.repetition_penalty,
        )
    return _num_output(trace) / (time.perf_counter() - started_s)


def transformers_static_batch(model: LlamaForCausalLM, trace: Trace) -> float:
    """Greedy `generate` on padded batches of four; a batch runs until its longest output."""
    started_s = time.perf_counter()
    for start in range(0, len(trace), STATIC_BATCH):
        group = trace[start : start + STATIC_BATCH]
        longest = max(request.max_tokens for request in group)
        _generate(model, [request.prompt for request in group], longest, do_sample=False)
    return _num_output(trace) / (time.perf_counter() - started_s)


def _generate(
    model: Any, prompts: Sequence[Sequence[int]], num_output: int, **sampling: Any
) -> list[list[int]]:
    width = max(len(prompt) for prompt in prompts)
    padding = [width - len(prompt) for prompt in prompts]
    tokens = [[0] * pad + list(prompt) for pad, prompt in zip(padding, prompts, strict=True)]
    mask = [[0] * pad + [1] * (width - pad) for pad in padding]
    with torch.inference_mode():
        generated = model.generate(
            torch.tensor(tokens),
            attention_mask=torch.tensor(mask),
            max_new_tokens=num_output,
            min_new_tokens=num_output,
            pad_token_id=0,
            **sampling,
        )
    outputs: list[list[int]] = generated.tolist()
    return outputs


def greedy_agreement(model: LlamaForCausalLM, engine: Engine, trace: Trace) -> float:
    """Share of the plain greedy requests that both answer with the same tokens."""
    plain = [r for r in trace if r.temperature == 0.0 and r.repetition_penalty == 1.0]
    num_equal = 0
    for request in plain:
        (expected,) = _generate(model, [request.prompt], request.max_tokens, do_sample=False)
        sequence = _enqueue(engine, request)
        _step_to_the_end(engine)
        num_equal += sequence.tokens == expected
    return num_equal / len(plain)


def engine_in_process(engine: Engine, trace: Trace) -> float:
    """The engine without HTTP: all requests queued at once, stepped until done."""
    engine.prefix_cache.clear()
    started_s = time.perf_counter()
    for request in trace:
        _enqueue(engine, request)
    _step_to_the_end(engine)
    return _num_output(trace) / (time.perf_counter() - started_s)


def _enqueue(engine: Engine, request: TraceRequest) -> Running:
    parameters = SamplingParameters(
        temperature=request.temperature,
        top_k=request.top_k,
        top_p=request.top_p,
        repetition_penalty=request.repetition_penalty,
        seed=request.seed,
    )
    tokens = list(request.prompt)
    sequence = Running(tokens, parameters, request.max_tokens, frozenset(), Silence())
    engine.scheduler.add(sequence)
    return sequence


def _step_to_the_end(engine: Engine) -> None:
    while engine.scheduler.running or engine.scheduler.waiting:
        engine.step()


def engine_over_http(port: int, trace: Trace) -> float:
    """The engine as a server under streaming load, all requests sent at once."""
    reset = urllib.request.Request(f"http://127.0.0.1:{port}/reset", method="POST")
    urllib.request.urlopen(reset, timeout=60).close()  # noqa: S310  loopback
    result = run_load(trace, port=port, concurrency=len(trace))
    if result.failed:
        raise RuntimeError(f"{result.failed} requests failed: {result.errors}")
    return result.output_throughput_tok_s


def _num_output(trace: Trace) -> int:
    return sum(request.max_tokens for request in trace)


@contextlib.contextmanager
def served(document: dict[str, dict[str, Any]], model: Path) -> Iterator[int]:
    """A server with these switches; gives its port once it is healthy."""
    config = model.parent / "serve.yaml"
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = [sys.executable, "-m", "arbor.targets.engine.server"]
    options = ["--config", str(config), "--model", str(model), "--port", str(port)]
    process = subprocess.Popen([*program, *options])
    try:
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60).close()
                break
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode} while starting")
            time.sleep(0.05)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def measure(model: Path, num_rounds: int) -> tuple[dict[str, float], float]:
    """Median tokens per second of every contestant, and the agreement of greedy tokens."""
    torch.set_num_threads(1)
    successors = planted_successors(model)
    # from_pretrained gives the model in evaluation mode.
    reference = LlamaForCausalLM.from_pretrained(model)
    engine = Engine(model, parse_settings({}))
    exact = Engine(model, parse_settings(EXACT))
    with contextlib.ExitStack() as stack:
        baseline_port = stack.enter_context(served({}, model))
        exact_port = stack.enter_context(served(EXACT, model))
        int8_port = stack.enter_context(served(INT8, model))
        contestants: dict[str, Contestant] = {
            "transformers, one by one": lambda trace: transformers_one_by_one(reference, trace),
            "transformers, padded 4": lambda trace: transformers_static_batch(reference, trace),
            "baseline, in process": lambda trace: engine_in_process(engine, trace),
            "baseline, HTTP": lambda trace: engine_over_http(baseline_port, trace),
            "exact stack, in process": lambda trace: engine_in_process(exact, trace),
            "exact stack, HTTP": lambda trace: engine_over_http(exact_port, trace),
            "int8 stack, HTTP": lambda trace: engine_over_http(int8_port, trace),
        }
        figures: dict[str, list[float]] = {name: [] for name in contestants}
        warm = build_trace(99, num_requests=4, successors=successors, length_scale=0.2)
        for play in contestants.values():
            play(warm)
        for seed in range(num_rounds):
            trace = build_trace(seed, successors=successors)
            for name, play in contestants.items():
                figures[name].append(play(trace))
    agreement = greedy_agreement(reference, exact, build_trace(0, successors=successors))
    return {name: statistics.median(values) for name, values in figures.items()}, agreement


def rows(medians: dict[str, float], agreement: float, num_rounds: int) -> list[Row]:
    """The figures: throughputs without a goal, ratios with one."""
    how = (
        f"median of {num_rounds} interleaved rounds, 24 requests, 1 compute thread, "
        f"torch {torch.__version__}"
    )
    baseline, alone = medians["baseline, HTTP"], medians["transformers, one by one"]
    exact, int8 = medians["exact stack, HTTP"], medians["int8 stack, HTTP"]
    equal = "greedy requests answered like transformers, exact stack"
    return [
        *(Row(name, value, "tok/s", how=how) for name, value in medians.items()),
        at_least("baseline over HTTP / transformers", baseline / alone, "ratio", 1 / 1.5, how),
        at_least("exact stack / baseline, HTTP", exact / baseline, "ratio", 5.0, how),
        at_least("int8 stack / baseline, HTTP", int8 / baseline, "ratio", 8.0, how),
        at_least(equal, agreement, "ratio", 1.0, how),
    ]


def main() -> int:
    """Measure, print, write; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = create_synthetic_model(Path(folder) / "model", seed=0)
        medians, agreement = measure(model, arguments.rounds)
    return publish("engine_vs_transformers", rows(medians, agreement, arguments.rounds))


if __name__ == "__main__":
    sys.exit(main())
