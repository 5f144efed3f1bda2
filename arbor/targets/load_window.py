"""What windows of all targets with a streaming client share: playing a load, and its fields."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar

from arbor.targets.engine.client import LoadResult, Quantiles, StreamedRequest, run_load
from arbor.targets.http_server import HttpServer


class PlannedRequest(StreamedRequest, Protocol):
    """A request of which it is known what it asks for."""

    @property
    def max_tokens(self) -> int:
        """Tokens that the answer is to have."""
        ...


R = TypeVar("R", bound=PlannedRequest, covariant=True)


@dataclass(frozen=True, slots=True)
class TraceLoad(Generic[R]):
    """What is played.

    Attributes:
        trace: the requests.
        concurrency: requests that the client keeps open.
        limit_s: limit of the whole window; the server is killed after it.
        request_limit_s: limit of one request.
    """

    trace: Sequence[R]
    concurrency: int
    limit_s: float
    request_limit_s: float = 600.0


def play(server: HttpServer, phase: str, load: TraceLoad[R]) -> LoadResult:
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


def work_fields(load: TraceLoad[R], result: LoadResult) -> dict[str, Any]:
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
        "num_shared_input_tokens": shared_tokens(request.prompt for request in load.trace),
        "num_concurrent_planned": load.concurrency,
        "num_concurrent_max": result.num_concurrent_max,
    }


def latency_fields(result: LoadResult) -> dict[str, float | None]:
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


def shared_tokens(prompts: Iterable[Sequence[int]]) -> int:
    """Return the prompt tokens that an ideal prefix cache takes from other prompts.

    In sorted order every prompt shares most with its neighbour, so the sum of what neighbours
    share is the number of tokens less the nodes of the prompts' prefix tree.
    """
    ordered = sorted(tuple(prompt) for prompt in prompts)
    return sum(_common_prefix(first, second) for first, second in pairwise(ordered))


def _common_prefix(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    for length, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return length
    return min(len(first), len(second))
