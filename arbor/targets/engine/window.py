"""One benchmark window: a trace played against a server, with everything that guardrails read."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arbor.events.types import Counter, WindowSample
from arbor.targets.engine.client import LoadResult, Quantiles, run_load
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.trace import TraceRequest, shared_prefix_tokens
from arbor.targets.machine_counters import read_machine_counters
from arbor.targets.processor_clock import ProcessorClock
from arbor.targets.server_log import LogMark


@dataclass(frozen=True, slots=True)
class TraceLoad:
    """What is played.

    Attributes:
        trace: the requests.
        concurrency: requests that the client keeps open.
        limit_s: limit of the whole window; the server is killed after it.
        request_limit_s: limit of one request.
    """

    trace: Sequence[TraceRequest]
    concurrency: int
    limit_s: float
    request_limit_s: float = 600.0


def play(server: EngineServer, phase: str, load: TraceLoad) -> LoadResult:
    """Play a load; failed requests are a result as long as the server lives.

    Raises:
        ServerFailedError: the server failed, hung, or completed nothing.
    """
    with server.time_limit(phase, load.limit_s):
        result = run_load(
            load.trace,
            port=server.port,
            host=server.host,
            concurrency=load.concurrency,
            limit_s=load.request_limit_s,
        )
    if result.failed:
        message = f"{result.failed} of {len(load.trace)} requests failed: {result.errors[0]}"
        failure = server.failure(phase, message)
        if result.completed == 0 or (failure.exit_code, failure.signal) != (None, None):
            raise failure
    return result


def measure_window(server: EngineServer, load: TraceLoad, seed: int) -> WindowSample:
    """Play a load and return all that was seen, on both sides; no cache is emptied before.

    Args:
        server: the server.
        load: what is played.
        seed: seed of its trace.

    Raises:
        ServerFailedError: the server failed, hung, or completed nothing.
    """
    log = LogMark(server.child.log_path)
    before = server.state("benchmark")
    machine_before = read_machine_counters()
    clock = ProcessorClock(server.child)
    result = play(server, "benchmark", load)
    server_cpu_s, foreign = clock.read()
    machine = read_machine_counters().since(machine_before)
    after = server.state("benchmark")
    logged = log.read()
    return WindowSample(
        duration_s=result.duration_s,
        throughput_tok_s=result.output_throughput_tok_s,
        **_work(load, result),
        **_latencies(result),
        **_server_side(before, after),
        num_compilations=_graphs(after) - _graphs(before) + logged.num_compilations,
        num_log_warnings=logged.num_warnings,
        server_cpu_s=server_cpu_s,
        client_cpu_s=result.client_cpu_s,
        foreign_cpu_ratio=foreign,
        num_throttlings=machine.num_throttlings,
        energy_j=machine.energy_j,
        output_digest=_greedy_digest(load.trace, result),
        seed=seed,
    )


def _work(load: TraceLoad, result: LoadResult) -> dict[str, Any]:
    """Return the fields of what was asked and what came."""
    return {
        "num_completed": result.completed,
        "num_failed": result.failed,
        "num_rejected": result.rejected,
        "num_empty": result.empty,
        "num_input_tokens": result.total_input_tokens,
        "num_output_tokens": result.total_output_tokens,
        "num_chunks": result.num_chunks,
        "num_planned_requests": len(load.trace),
        "num_planned_input_tokens": sum(len(request.prompt) for request in load.trace),
        "num_planned_output_tokens": sum(request.max_tokens for request in load.trace),
        "num_shared_input_tokens": shared_prefix_tokens(load.trace),
        "num_concurrent_planned": load.concurrency,
        "num_concurrent_max": result.num_concurrent_max,
    }


def _latencies(result: LoadResult) -> dict[str, float | None]:
    """Return the fields of latencies; None where nothing was measured."""
    named: dict[str, Quantiles] = {"ttft": result.ttft, "tpot": result.tpot, "itl": result.itl}
    fields: dict[str, float | None] = {}
    for name, quantiles in named.items():
        is_known = quantiles.p99_ms > 0
        fields[f"{name}_ms_p50"] = quantiles.p50_ms if is_known else None
        fields[f"{name}_ms_p95"] = quantiles.p95_ms if is_known else None
        fields[f"{name}_ms_p99"] = quantiles.p99_ms if is_known else None
    return fields | {
        "ttft_ms_mean": result.ttft.mean_ms or None,
        "tpot_ms_mean": result.tpot.mean_ms or None,
        "e2e_ms_mean": result.e2e.mean_ms or None,
        "first_tenth_ratio": result.first_tenth_ratio or None,
    }


def _server_side(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the server counts itself."""
    served, earlier = after["served"], before["served"]
    num_served = served["num_requests"] - earlier["num_requests"]
    e2e_s = served["e2e_s"] - earlier["e2e_s"]
    compiled = after["compilations"]
    old = _totals(before)
    growth = {name: count - old.get(name, 0) for name, count in _totals(after).items()}
    return {
        "num_served_requests": num_served,
        "num_served_output_tokens": served["num_output_tokens"] - earlier["num_output_tokens"],
        "server_e2e_ms_mean": e2e_s * 1e3 / num_served if num_served else None,
        "num_preemptions": growth["num_preemptions"],
        "num_reused_input_tokens": growth["prefix_cache.hit_tokens"],
        "is_code_cached": compiled["num_cache_misses"] == 0 if compiled["num_graphs"] else None,
        "debug_switches": tuple(after["debug_switches"]),
        "peaks": _counters(after["peaks"]),
        "counters": _counters(growth),
    }


def _totals(state: Mapping[str, Any]) -> dict[str, float]:
    """Return all counters of a server's state by name."""
    prefix = {f"prefix_cache.{name}": count for name, count in state["prefix_cache"].items()}
    totals = {name: state[name] for name in ("num_steps", "num_preemptions")}
    return {**state["counters"], **prefix, **totals}


def _graphs(state: Mapping[str, Any]) -> int:
    return int(state["compilations"]["num_graphs"])


def _counters(values: Mapping[str, float]) -> tuple[Counter, ...]:
    return tuple(Counter(key=key, value=value) for key, value in sorted(values.items()))


def _greedy_digest(trace: Sequence[TraceRequest], result: LoadResult) -> str:
    greedy = [
        digest
        for request, digest in zip(trace, result.token_digests, strict=True)
        if request.temperature == 0.0
    ]
    return hashlib.sha256(" ".join(greedy).encode()).hexdigest()
