"""A streaming HTTP client that plays a trace against an engine and measures latencies."""

import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import numpy as np

from arbor.targets.engine.trace import TraceRequest

_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of a latency in milliseconds; zero if nothing was measured."""

    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True)
class LoadResult:
    """What playing a trace gave.

    Attributes:
        completed: requests that ended with all their tokens.
        failed: the others.
        errors: one line for each distinct failure.
        duration_s: first request sent to last token received, wall clock.
        output_throughput_tok_s: output tokens per second of the duration.
        ttft: time to first token.
        tpot: time per output token after the first, one value per request.
        itl: gaps between the events of a stream.
        token_digests: SHA-256 of each request's token ids in trace order; empty if it failed.
        client_cpu_s: CPU seconds of the client's thread.
    """

    completed: int
    failed: int
    errors: tuple[str, ...]
    total_input_tokens: int
    total_output_tokens: int
    duration_s: float
    output_throughput_tok_s: float
    ttft: Quantiles
    tpot: Quantiles
    itl: Quantiles
    token_digests: tuple[str, ...]
    client_cpu_s: float


@dataclass
class _Stream:
    """One request's stream as it arrives."""

    num_input: int
    tokens: list[int] = field(default_factory=list)
    first_s: float = 0.0
    last_s: float = 0.0
    gaps_s: list[float] = field(default_factory=list)
    sent_s: float = 0.0
    error: str = ""
    is_done: bool = False

    def take(self, event: bytes, now_s: float) -> None:
        """Read one event's data."""
        if event == b"[DONE]":
            self.is_done = True
            return
        choices = json.loads(event)["choices"]
        new = choices[0]["token_ids"] if choices else []
        if not new:
            return
        if self.tokens:
            self.gaps_s.append(now_s - self.last_s)
        else:
            self.first_s = now_s
        self.last_s = now_s
        self.tokens.extend(new)


def run_load(
    trace: Sequence[TraceRequest], *, port: int, host: str = "127.0.0.1", concurrency: int = 24
) -> LoadResult:
    """Play a trace in order with so many requests open at once; blocks, from any thread.

    A failed request is a result and not an exception.
    """
    with asyncio.Runner() as runner:
        return runner.run(_play(trace, f"http://{host}:{port}/v1/completions", concurrency))


async def _play(trace: Sequence[TraceRequest], url: str, concurrency: int) -> LoadResult:
    streams = [_Stream(len(request.prompt)) for request in trace]
    bodies = [json.dumps(request.body()).encode() for request in trace]
    todo = iter(range(len(trace)))
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
    # No cookies, redirects or decompression: an engine sends none.
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=timeout,
        auto_decompress=False,
    ) as session:

        async def work() -> None:
            for index in todo:
                await _one(session, url, bodies[index], streams[index])

        started_s, started_cpu_s = time.perf_counter(), time.thread_time()
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(trace))):
                group.create_task(work())
        duration_s = time.perf_counter() - started_s
        client_cpu_s = time.thread_time() - started_cpu_s
    expected = [request.max_tokens for request in trace]
    return _summary(streams, expected, duration_s, client_cpu_s)


async def _one(session: aiohttp.ClientSession, url: str, body: bytes, stream: _Stream) -> None:
    headers = {"Content-Type": "application/json"}
    stream.sent_s = time.perf_counter()
    try:
        async with session.post(url, data=body, headers=headers) as response:
            if response.status != 200:
                text = " ".join((await response.text()).split())
                stream.error = f"HTTP {response.status}: {text[:200]}"
                return
            rest = b""
            async for piece in response.content.iter_any():
                now_s = time.perf_counter()
                *events, rest = (rest + piece).split(b"\n\n")
                for event in events:
                    if event.startswith(b"data: "):
                        stream.take(event[6:], now_s)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError, KeyError) as error:
        stream.error = f"{type(error).__name__}: {error}"


def _summary(
    streams: list[_Stream], expected: list[int], duration_s: float, client_cpu_s: float
) -> LoadResult:
    for stream, count in zip(streams, expected, strict=True):
        if not stream.error and not stream.is_done:
            stream.error = "stream ended without [DONE]"
        if not stream.error and len(stream.tokens) != count:
            stream.error = f"{len(stream.tokens)} of {count} tokens"
    good = [stream for stream in streams if not stream.error]
    num_output = sum(len(stream.tokens) for stream in good)
    per_token = [
        (stream.last_s - stream.first_s) / (len(stream.tokens) - 1)
        for stream in good
        if len(stream.tokens) > 1
    ]
    return LoadResult(
        completed=len(good),
        failed=len(streams) - len(good),
        errors=tuple(sorted({stream.error for stream in streams if stream.error})),
        total_input_tokens=sum(stream.num_input for stream in good),
        total_output_tokens=num_output,
        duration_s=duration_s,
        output_throughput_tok_s=num_output / duration_s,
        ttft=_quantiles([stream.first_s - stream.sent_s for stream in good]),
        tpot=_quantiles(per_token),
        itl=_quantiles([gap for stream in good for gap in stream.gaps_s]),
        token_digests=tuple(_digest(stream) for stream in streams),
        client_cpu_s=client_cpu_s,
    )


def _digest(stream: _Stream) -> str:
    if stream.error:
        return ""
    return hashlib.sha256(" ".join(map(str, stream.tokens)).encode()).hexdigest()


def _quantiles(seconds: list[float]) -> Quantiles:
    if not seconds:
        return Quantiles(0.0, 0.0, 0.0)
    values: Any = np.quantile(np.asarray(seconds) * 1e3, (0.5, 0.95, 0.99))
    return Quantiles(*(float(value) for value in values))
