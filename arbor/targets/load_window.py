"""A load played against a server's HTTP interface, and what a window's sample says of it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arbor.targets.http_server import HttpServer
from arbor.targets.machine_counters import read_machine_counters
from arbor.targets.openai_client import (
    COMPLETIONS,
    LoadResult,
    Quantiles,
    StreamedRequest,
    run_load,
)
from arbor.targets.processor_clock import ProcessorClock
from arbor.targets.server_log import LogMark
from arbor.targets.turns import Timeline, wall


class PlannedRequest(StreamedRequest, Protocol):
    """A request whose answer has a known length."""

    @property
    def max_tokens(self) -> int:
        """Tokens that the answer shall have."""
        ...

    @property
    def temperature(self) -> float:
        """Of the sampler; 0 is greedy."""
        ...


@dataclass(frozen=True, slots=True)
class RequestLoad:
    """What is played.

    Attributes:
        requests: in order.
        concurrency: requests that the client keeps open.
        limit_s: limit of the whole window; the server is killed after it.
        request_limit_s: limit of one request.
        path: where the server answers.
    """

    requests: Sequence[PlannedRequest]
    concurrency: int
    limit_s: float
    request_limit_s: float = 600.0
    path: str = COMPLETIONS


def play(
    server: HttpServer, phase: str, load: RequestLoad, timeline: Timeline = wall
) -> LoadResult:
    """Play a load; failed requests are a result as long as the server lives.

    Args:
        server: the server.
        phase: phase that a failure belongs to.
        load: what is played.
        timeline: what counts of the time.

    Raises:
        ServerFailedError: the server failed, hung, or completed nothing.
    """
    with server.time_limit(phase, load.limit_s):
        result = run_load(
            load.requests,
            port=server.port,
            host=server.host,
            path=load.path,
            concurrency=load.concurrency,
            limit_s=load.request_limit_s,
            timeline=timeline,
        )
    if result.failed:
        message = f"{result.failed} of {len(load.requests)} requests failed: {result.errors[0]}"
        failure = server.failure(phase, message)
        if result.completed == 0 or (failure.exit_code, failure.signal) != (None, None):
            raise failure
    return result


def observe(
    server: HttpServer,
    load: RequestLoad,
    timeline: Timeline = wall,
    beside: HttpServer | None = None,
) -> dict[str, Any]:
    """Play a load and return the fields of a ``WindowSample`` that need no server's counters.

    Args:
        server: the server.
        load: what is played.
        timeline: what counts of the time.
        beside: the server that takes turns with it; energy cannot be told apart then.

    Raises:
        ServerFailedError: the server failed, hung, or completed nothing.
    """
    log = LogMark(server.child.log_path)
    machine_before = read_machine_counters()
    others = () if beside is None else (beside.child,)
    clock = ProcessorClock(server.child, others)
    result = play(server, "benchmark", load, timeline)
    server_cpu_s, foreign = clock.read()
    machine = read_machine_counters().since(machine_before)
    logged = log.read()
    return {
        **_work(load, result),
        **_latencies(result),
        "num_compilations": logged.num_compilations,
        "num_log_warnings": logged.num_warnings,
        "server_cpu_s": server_cpu_s,
        "client_cpu_s": result.client_cpu_s,
        "foreign_cpu_ratio": foreign,
        "num_throttlings": machine.num_throttlings,
        "energy_j": machine.energy_j if beside is None else None,
        "stopped_ratio": result.stopped_ratio,
        "output_digest": _greedy_digest(load, result),
    }


def _work(load: RequestLoad, result: LoadResult) -> dict[str, Any]:
    """Return the fields of what was asked and what came."""
    inputs = [request.num_prompt_tokens for request in load.requests]
    return {
        "duration_s": result.duration_s,
        "throughput_tok_s": result.output_throughput_tok_s,
        "num_completed": result.completed,
        "num_failed": result.failed,
        "num_rejected": result.rejected,
        "num_empty": result.empty,
        "num_input_tokens": result.total_input_tokens,
        "num_output_tokens": result.total_output_tokens,
        "num_chunks": result.num_chunks,
        "num_planned_requests": len(load.requests),
        "num_planned_input_tokens": None if None in inputs else sum(num or 0 for num in inputs),
        "num_planned_output_tokens": sum(request.max_tokens for request in load.requests),
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


def _greedy_digest(load: RequestLoad, result: LoadResult) -> str:
    greedy = [
        digest
        for request, digest in zip(load.requests, result.token_digests, strict=True)
        if request.temperature == 0.0
    ]
    return hashlib.sha256(" ".join(greedy).encode()).hexdigest() if greedy else ""
