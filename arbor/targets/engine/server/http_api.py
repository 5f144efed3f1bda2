"""The HTTP front: OpenAI's completions, and what Arbor asks beside them."""

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from arbor.targets.engine.server.debug_switches import debug_switches
from arbor.targets.engine.server.engine import Delivery, Engine
from arbor.targets.engine.server.engine_thread import EngineThread
from arbor.targets.engine.server.profiling import Profiler
from arbor.targets.engine.server.requests import (
    BadRequestError,
    CompletionRequest,
    parse_completion,
    parse_score,
)
from arbor.targets.engine.server.scoring import score
from arbor.targets.engine.server.sequence import Sequence
from arbor.targets.engine.server.service_record import ServiceRecord
from arbor.targets.engine.server.state import describe_state
from arbor.targets.engine.server.streaming import (
    CollectingSink,
    EndedError,
    StreamingSink,
    completion_chunk,
    usage,
)

_MAX_BODY_BYTES = 64 << 20

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Api:
    """Handlers around one engine and its thread."""

    def __init__(self, engine: Engine, model_name: str) -> None:
        self._engine = engine
        self._model_name = model_name
        self._loop = asyncio.get_running_loop()
        self._profiler = Profiler(engine, threading.get_ident())
        self._numbers = itertools.count(1)
        self._open: set[Sequence] = set()
        self._served = ServiceRecord()
        self.crashed: asyncio.Future[str] = self._loop.create_future()
        self.thread = EngineThread(engine, self._deliver, self._crash)

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=[_errors_as_json])
        app.router.add_get("/health", self.health)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/state", self.state)
        app.router.add_post("/v1/completions", self.completions)
        app.router.add_post("/score", self.score)
        app.router.add_post("/reset", self.reset)
        app.router.add_post("/profile/start", self.profile_start)
        app.router.add_post("/profile/stop", self.profile_stop)
        return app

    async def health(self, _request: web.Request) -> web.Response:
        """200 while the engine serves."""
        if self.crashed.done():
            return web.json_response({"error": self.crashed.result()}, status=503)
        return web.json_response({"status": "ok"})

    async def models(self, _request: web.Request) -> web.Response:
        """OpenAI's list of models, with the length of the longest sequence."""
        entry = {
            "id": self._model_name,
            "object": "model",
            "created": 0,
            "owned_by": "arbor",
            "max_model_len": self._engine.architecture.max_positions,
        }
        return web.json_response({"object": "list", "data": [entry]})

    async def state(self, _request: web.Request) -> web.Response:
        """Resolved switches, versions, witness counters and statistics."""
        own = {
            "served": self._served.as_dict(),
            "debug_switches": debug_switches(is_profiling=self._profiler.is_on),
        }
        return web.json_response(describe_state(self._engine) | own)

    async def completions(self, request: web.Request) -> web.StreamResponse:
        """OpenAI's text completions on token ids."""
        asked = parse_completion(await _json(request), self._engine.architecture)
        if self.crashed.done():
            raise EndedError(self.crashed.result())
        completion_id = f"cmpl-{next(self._numbers)}"
        if asked.streams:
            return await self._stream(request, asked, completion_id)
        sink = CollectingSink()
        reason = await self._serve(asked, sink)
        body = completion_chunk(
            completion_id, self._model_name, int(time.time()), sink.tokens, reason
        )
        body["usage"] = usage(len(asked.prompt), len(sink.tokens))
        return web.json_response(body)

    async def score(self, request: web.Request) -> web.Response:
        """Teacher-forced log-probabilities; waits until no sequence runs."""
        asked = parse_score(await _json(request), self._engine.architecture)
        scored = await self._run(lambda: score(self._engine, asked), needs_idle=True)
        return web.json_response(scored)

    async def reset(self, _request: web.Request) -> web.Response:
        """Drop the prefix cache and the peaks."""
        await self._run(self._engine.reset)
        return web.json_response({"status": "ok"})

    async def profile_start(self, _request: web.Request) -> web.Response:
        """Begin to time the parts of a step."""
        await self._run(self._profiler.start)
        return web.json_response({"status": "ok"})

    async def profile_stop(self, _request: web.Request) -> web.Response:
        """End the profile and give its shares."""
        return web.json_response(await self._run(self._profiler.stop))

    async def _stream(
        self, request: web.Request, asked: CompletionRequest, completion_id: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        transport = request.transport
        if not isinstance(transport, asyncio.Transport):
            raise ConnectionResetError("client went away")
        # aiohttp holds small headers back for the body, which is not written through it.
        await response.write(b": ok\n\n")
        sink = StreamingSink(transport, completion_id, self._model_name, len(asked.prompt))
        try:
            await self._serve(asked, sink)
            await response.write_eof()
        except EndedError:
            # The headers are out, so a broken connection is the only error left to give.
            transport.abort()
        return response

    async def _serve(self, asked: CompletionRequest, sink: CollectingSink | StreamingSink) -> str:
        """Run a request to its end; a client that goes away takes its sequence with it."""
        stop = () if asked.ignores_eos else self._engine.architecture.eos_token_ids
        sequence = Sequence(
            tokens=list(asked.prompt),
            parameters=asked.parameters,
            max_tokens=asked.max_tokens,
            stop_tokens=frozenset(stop),
            sink=sink,
        )
        self._open.add(sequence)
        started_s = time.perf_counter()
        self.thread.submit(sequence)
        try:
            reason = await sink.ended
            self._served.take(sequence, reason, time.perf_counter() - started_s)
            return reason
        finally:
            sequence.is_cancelled = True
            self._open.discard(sequence)

    async def _run(self, function: Callable[[], Any], *, needs_idle: bool = False) -> Any:
        return await asyncio.wrap_future(self.thread.run(function, needs_idle=needs_idle))

    def _deliver(self, deliveries: list[Delivery]) -> None:
        self._loop.call_soon_threadsafe(_push_all, deliveries)

    def _crash(self, reason: str) -> None:
        self._loop.call_soon_threadsafe(self._end_all, reason)

    def _end_all(self, reason: str) -> None:
        self.crashed.set_result(reason)
        for sequence in self._open:
            sequence.sink.fail(reason)


def _push_all(deliveries: list[Delivery]) -> None:
    for sink, tokens, finish_reason in deliveries:
        sink.push(tokens, finish_reason)


async def _json(request: web.Request) -> Any:
    try:
        return json.loads(await request.read())
    except ValueError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """OpenAI's error object for bad requests and for a crashed engine."""
    try:
        return await handler(request)
    except BadRequestError as error:
        kind, message, status = "invalid_request_error", str(error), 400
    except EndedError as error:
        kind, message, status = "server_error", str(error), 500
    return web.json_response(
        {"error": {"message": message, "type": kind, "code": status}}, status=status
    )
