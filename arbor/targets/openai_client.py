"""A streaming client of OpenAI-compatible servers: plays requests and measures latencies."""

import asyncio
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

import aiohttp
import numpy as np

from arbor.targets.turns import Timeline, wall

_TIMEOUT_S = 600.0
COMPLETIONS = "/v1/completions"
_FAILURES = (aiohttp.ClientError, OSError, ValueError, LookupError, TypeError, AttributeError)
"""No connection, no answer in time, and answers that are not of the expected form."""


class StreamedRequest(Protocol):
    """One request whose answer is streamed."""

    @property
    def num_prompt_tokens(self) -> int | None:
        """Tokens of the prompt, for servers that do not count them; None for a text."""
        ...

    def body(self) -> Mapping[str, Any]:
        """Return the JSON body, which asks for a stream."""
        ...


@dataclass(frozen=True)
class Quantiles:
    """Mean and quantiles of a latency in milliseconds; zero if nothing was measured."""

    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True)
class LoadResult:
    """What playing a trace gave.

    Attributes:
        completed: requests that the server ended well, short answers and empty ones too.
        failed: the others.
        rejected: failed requests that the server refused with an HTTP error of the client.
        empty: completed requests without a token.
        errors: one line for each distinct failure.
        total_input_tokens: prompt tokens of completed requests as the server counts them.
        total_output_tokens: tokens of completed requests that arrived.
        duration_s: first request sent to last token received.
        output_throughput_tok_s: output tokens per second of the duration.
        num_chunks: events with tokens or text.
        is_counted: output tokens are those that arrived, or that the server counted; events stand
            for tokens when False.
        num_concurrent_max: most requests that were open at once.
        ttft: time to first token.
        tpot: time per output token after the first, one value per request; the mean is over
            tokens, so that it adds up to the whole.
        itl: gaps between the events of a stream.
        e2e: request sent to its last token.
        first_tenth_ratio: time of the first tenth of the tokens over a tenth of the duration.
        token_digests: SHA-256 of each request's token ids, or of its text where the server sends
            no ids, in the order of the requests; empty if it failed.
        client_cpu_s: CPU seconds of the client's thread.
        stopped_ratio: share of the wall clock that did not count.
    """

    completed: int
    failed: int
    rejected: int
    empty: int
    errors: tuple[str, ...]
    total_input_tokens: int
    total_output_tokens: int
    duration_s: float
    output_throughput_tok_s: float
    num_chunks: int
    is_counted: bool
    num_concurrent_max: int
    ttft: Quantiles
    tpot: Quantiles
    itl: Quantiles
    e2e: Quantiles
    first_tenth_ratio: float
    token_digests: tuple[str, ...]
    client_cpu_s: float
    stopped_ratio: float = 0.0


@dataclass
class _Stream:
    """One request's stream as it arrives."""

    num_input: int
    tokens: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Text of events without token ids."""
    num_counted: int | None = None
    """Output tokens by the server's count."""
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    """Time and number of tokens of each event."""
    sent_s: float = 0.0
    error: str = ""
    is_rejected: bool = False
    is_done: bool = False

    @property
    def num_output(self) -> int:
        """Tokens of the answer; events stand for tokens when nobody counted."""
        if self.texts and self.num_counted is not None:
            return self.num_counted
        return sum(num for _, num in self.arrivals)

    @property
    def is_counted(self) -> bool:
        return not self.texts or self.num_counted is not None

    @property
    def first_s(self) -> float:
        return self.arrivals[0][0] if self.arrivals else self.sent_s

    @property
    def last_s(self) -> float:
        return self.arrivals[-1][0] if self.arrivals else self.sent_s

    def move_to(self, timeline: Timeline) -> None:
        """Map all times."""
        self.sent_s = timeline(self.sent_s)
        self.arrivals = [(timeline(when_s), num) for when_s, num in self.arrivals]

    def gaps_s(self) -> list[float]:
        """Return the time between the events."""
        times = [when for when, _ in self.arrivals]
        return [later - earlier for earlier, later in pairwise(times)]

    def take(self, event: bytes, now_s: float) -> None:
        """Read one event's data."""
        if event == b"[DONE]":
            self.is_done = True
            return
        message = json.loads(event)
        if message.get("error"):
            raise ValueError(f"the server sent an error: {str(message['error'])[:200]}")
        if usage := message.get("usage"):
            self.num_input = usage.get("prompt_tokens", self.num_input)
            self.num_counted = usage.get("completion_tokens", self.num_counted)
        for choice in message.get("choices") or ():
            self._take_choice(choice, now_s)

    def _take_choice(self, choice: Mapping[str, Any], now_s: float) -> None:
        if new := choice.get("token_ids"):
            self.arrivals.append((now_s, len(new)))
            self.tokens.extend(new)
        elif text := _text_of(choice):
            self.arrivals.append((now_s, 1))
            self.texts.append(text)


def _text_of(choice: Mapping[str, Any]) -> str:
    """Return the new text of a completion, or of a chat's answer and its reasoning."""
    delta = choice.get("delta") or {}
    texts = (choice.get("text"), delta.get("reasoning_content"), delta.get("content"))
    return "".join(text for text in texts if text)


class _Gate:
    """Counts the requests that are open."""

    def __init__(self) -> None:
        self.num_open = 0
        self.num_max = 0

    def __enter__(self) -> None:
        self.num_open += 1
        self.num_max = max(self.num_max, self.num_open)

    def __exit__(self, *_: object) -> None:
        self.num_open -= 1


def run_load(
    requests: Sequence[StreamedRequest],
    *,
    port: int,
    host: str = "127.0.0.1",
    path: str = COMPLETIONS,
    concurrency: int = 24,
    limit_s: float = _TIMEOUT_S,
    timeline: Timeline = wall,
) -> LoadResult:
    """Play requests in order with so many of them open at once; blocks, from any thread.

    A failed request is a result and not an exception.

    Args:
        requests: what is asked.
        port: where the server listens.
        host: where the server listens.
        path: where it answers.
        concurrency: requests to keep open.
        limit_s: a request that takes longer has failed.
        timeline: what counts of the time; all durations and latencies are on it.
    """
    url = f"http://{host}:{port}{path}"
    with asyncio.Runner() as runner:
        return runner.run(_play(requests, url, concurrency, limit_s, timeline))


async def _play(
    requests: Sequence[StreamedRequest],
    url: str,
    concurrency: int,
    limit_s: float,
    timeline: Timeline,
) -> LoadResult:
    streams = [_Stream(request.num_prompt_tokens or 0) for request in requests]
    bodies = [json.dumps(request.body()).encode() for request in requests]
    todo = iter(range(len(requests)))
    gate = _Gate()
    timeout = aiohttp.ClientTimeout(total=limit_s)
    # No cookies or decompression: servers of models send none.
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=timeout,
        auto_decompress=False,
    ) as session:

        async def work() -> None:
            for index in todo:
                with gate:
                    await _one(session, url, bodies[index], streams[index])

        started_s, started_cpu_s = time.perf_counter(), time.thread_time()
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(requests))):
                group.create_task(work())
        ended_s = time.perf_counter()
        client_cpu_s = time.thread_time() - started_cpu_s
    for stream in streams:
        stream.move_to(timeline)
    duration_s = max(timeline(ended_s) - timeline(started_s), 1e-9)
    stopped_ratio = max(0.0, 1.0 - duration_s / max(ended_s - started_s, 1e-9))
    summary = _summary(streams, timeline(started_s), duration_s, client_cpu_s, gate.num_max)
    return replace(summary, stopped_ratio=stopped_ratio)


async def _one(session: aiohttp.ClientSession, url: str, body: bytes, stream: _Stream) -> None:
    headers = {"Content-Type": "application/json"}
    stream.sent_s = time.perf_counter()
    try:
        async with session.post(url, data=body, headers=headers) as response:
            if response.status != 200:
                text = " ".join((await response.text()).split())
                stream.error = f"HTTP {response.status}: {text[:200]}"
                stream.is_rejected = 400 <= response.status < 500
                return
            rest = b""
            async for piece in response.content.iter_any():
                now_s = time.perf_counter()
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.startswith(b"data:"):
                        stream.take(line[5:].strip(), now_s)
    except _FAILURES as error:
        stream.error = f"{type(error).__name__}: {error}"


def _summary(
    streams: list[_Stream],
    started_s: float,
    duration_s: float,
    client_cpu_s: float,
    num_concurrent_max: int,
) -> LoadResult:
    for stream in streams:
        if not stream.error and not stream.is_done:
            stream.error = "stream ended without [DONE]"
    good = [stream for stream in streams if not stream.error]
    several = [stream for stream in good if stream.num_output > 1]
    num_output = sum(stream.num_output for stream in good)
    decode_s = sum(stream.last_s - stream.first_s for stream in several)
    num_decoded = sum(stream.num_output - 1 for stream in several)
    return LoadResult(
        completed=len(good),
        failed=len(streams) - len(good),
        rejected=sum(stream.is_rejected for stream in streams),
        empty=sum(not stream.arrivals for stream in good),
        errors=tuple(sorted({stream.error for stream in streams if stream.error})),
        total_input_tokens=sum(stream.num_input for stream in good),
        total_output_tokens=num_output,
        duration_s=duration_s,
        output_throughput_tok_s=num_output / duration_s,
        num_chunks=sum(len(stream.arrivals) for stream in good),
        is_counted=all(stream.is_counted for stream in good),
        num_concurrent_max=num_concurrent_max,
        ttft=_quantiles([stream.first_s - stream.sent_s for stream in good]),
        tpot=_quantiles(
            [(s.last_s - s.first_s) / (s.num_output - 1) for s in several],
            mean_s=decode_s / max(num_decoded, 1),
        ),
        itl=_quantiles([gap for stream in good for gap in stream.gaps_s()]),
        e2e=_quantiles([stream.last_s - stream.sent_s for stream in good]),
        first_tenth_ratio=_first_tenth_ratio(good, started_s, duration_s),
        token_digests=tuple(_digest(stream) for stream in streams),
        client_cpu_s=client_cpu_s,
    )


def _first_tenth_ratio(streams: list[_Stream], started_s: float, duration_s: float) -> float:
    arrivals = sorted(arrival for stream in streams for arrival in stream.arrivals)
    wanted = sum(num for _, num in arrivals) / 10.0
    for when, num in arrivals:
        wanted -= num
        if wanted <= 0:
            return (when - started_s) / (duration_s / 10.0)
    return 0.0


def _digest(stream: _Stream) -> str:
    if stream.error:
        return ""
    answer = "".join(stream.texts) if stream.texts else " ".join(map(str, stream.tokens))
    return hashlib.sha256(answer.encode()).hexdigest()


def _quantiles(seconds: list[float], mean_s: float | None = None) -> Quantiles:
    if not seconds:
        return Quantiles(0.0, 0.0, 0.0, 0.0)
    values_ms: Any = np.asarray(seconds) * 1e3
    mean_ms = float(values_ms.mean()) if mean_s is None else mean_s * 1e3
    return Quantiles(mean_ms, *(float(q) for q in np.quantile(values_ms, (0.5, 0.95, 0.99))))
