"""The fake's HTTP interface, as far as Arbor asks for it, with the faults that it is told."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.fakes.fake_vllm import device
from tests.fakes.fake_vllm.faults import fault
from tests.fakes.fake_vllm.log_lines import say, say_arguments, say_engine, say_traceback
from tests.fakes.fake_vllm.model import VOCAB_SIZE
from tests.fakes.fake_vllm.options import VERSION, option
from tests.fakes.fake_vllm.scheduler import Running, Scheduler
from tests.fakes.fake_vllm.trace import write_trace

_FLOOD_LINES = 3000


class Api:
    """Handlers of one server."""

    def __init__(self, given: Namespace) -> None:
        self._given = given
        self._scheduler = Scheduler(given)
        self._num_requests = 0
        self._finished = 0

    def application(self) -> web.Application:
        """Return the routes."""
        made = web.Application(client_max_size=2**26)
        made.add_routes(
            [
                web.get("/health", self._health),
                web.get("/version", self._version),
                web.get("/v1/models", self._models),
                web.get("/metrics", self._metrics),
                web.post("/tokenize", self._tokenize),
                web.post("/v1/completions", self._completions),
            ]
        )
        if option(self._given, "profiler_config", None):
            made.add_routes(
                [
                    web.post("/start_profile", self._start_profile),
                    web.post("/stop_profile", self._stop_profile),
                ]
            )
        made.on_startup.append(self._begin)
        return made

    async def _begin(self, _: web.Application) -> None:
        self._task = asyncio.create_task(self._scheduler.run())

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=503 if fault("never_healthy") is not None else 200)

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": VERSION})

    async def _models(self, _: web.Request) -> web.Response:
        name = self._given.served_model_name or self._given.model
        length = option(self._given, "max_model_len", 512)
        return web.json_response({"data": [{"id": name, "max_model_len": length}]})

    async def _tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        words = body["prompt"].split()
        tokens = [sum(word.encode()) * 31 % (VOCAB_SIZE - 64) + 32 for word in words]
        return web.json_response({"tokens": tokens, "count": len(tokens)})

    async def _metrics(self, _: web.Request) -> web.Response:
        labels = '{engine="0",model_name="m"}'
        lines = ["# HELP vllm:num_requests_running running", "vllm:num_requests_running 0.0"]
        for name in (
            "prompt_tokens",
            "generation_tokens",
            "prefix_cache_queries",
            "prefix_cache_hits",
            "num_preemptions",
        ):
            value = float(self._scheduler.counters[name])
            lines.append(f"vllm:{name}_total{labels} {value}")
        reason = 'engine="0",finished_reason="length",model_name="m"'
        lines.append(f"vllm:request_success_total{{{reason}}} {float(self._finished)}")
        latency = "vllm:e2e_request_latency_seconds"
        lines.append(f"{latency}_sum{labels} {self._scheduler.latency_s}")
        lines.append(f"{latency}_count{labels} {float(self._finished)}")
        return web.Response(text="\n".join(lines) + "\n")

    async def _start_profile(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _stop_profile(self, _: web.Request) -> web.Response:
        folder = Path(self._given.profiler_config["torch_profiler_dir"])
        if fault("no_trace") is None:
            write_trace(folder)
        return web.Response()

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self._num_requests += 1
        if fault("flood") is not None and self._num_requests == 1:
            for number in range(_FLOOD_LINES):
                say(f"line {number} of a flood " + "x" * 200)
        every = fault("fail_streams") if body.get("stream") else None
        if (every := every or fault("fail_every")) and self._num_requests % every == 0:
            return web.json_response({"error": {"message": "no"}}, status=500)
        if (last := fault("die_after")) and self._num_requests > last:
            say("EngineDeadError: EngineCore encountered an issue.", level="ERROR")
            os.kill(os.getpid(), signal.SIGKILL)
        if (last := fault("hang_after")) and self._num_requests > last:
            self._scheduler.is_stuck = True
        if fault("garbage") is not None:
            return web.Response(text="<html>it works</html>")
        name = self._given.served_model_name or self._given.model
        if body["model"] != name:
            return web.json_response({"error": {"message": "no such model"}}, status=404)
        if body.get("stream"):
            return await self._stream(request, body)
        prompts = body["prompt"] if isinstance(body["prompt"][0], list) else [body["prompt"]]
        running = [self._add(prompt, body) for prompt in prompts]
        choices = []
        for index, (prompt, each) in enumerate(zip(prompts, running, strict=True)):
            answer = [token async for token in _arriving(each)]
            choices.append(self._choice(index, prompt, answer, body))
            self._finished += 1
        return web.json_response({"choices": choices})

    def _add(self, prompt: list[int], body: dict[str, Any]) -> Running:
        return self._scheduler.add(prompt, body["max_tokens"], body.get("cache_salt", ""))

    async def _stream(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        started_s = time.perf_counter()
        running = self._add(body["prompt"], body)
        interval = option(self._given, "stream_interval", 1)
        held: list[int] = []
        num_output = 0
        async for token in _arriving(running):
            held.append(token)
            num_output += 1
            if len(held) >= interval or num_output in {1, body["max_tokens"]}:
                shown = [] if fault("empty") is not None else held
                await _event(response, _chunk(shown))
                held = []
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": num_output}
        await _event(response, {"choices": [], "usage": usage})
        self._finished += 1
        self._scheduler.latency_s += time.perf_counter() - started_s
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    def _choice(
        self, index: int, prompt: list[int], answer: list[int], body: dict[str, Any]
    ) -> dict[str, Any]:
        model = self._scheduler.model
        choice: dict[str, Any] = {"index": index, "text": "", "token_ids": answer}
        if top := body.get("prompt_logprobs"):
            positions: list[Any] = [None]
            for end in range(1, len(prompt)):
                likely = list(model.logprobs(prompt[:end]).items())[:top]
                entry = {t: {"logprob": v, "rank": r} for r, (t, v) in enumerate(likely, 1)}
                value = model.logprob(prompt[:end], prompt[end])
                entry.setdefault(prompt[end], {"logprob": value, "rank": VOCAB_SIZE})
                positions.append({str(token): each for token, each in entry.items()})
            choice["prompt_logprobs"] = positions
        if top := body.get("logprobs"):
            before, tops, values = list(prompt), [], []
            for token in answer:
                best = dict(list(model.logprobs(before).items())[:top])
                tops.append({f"token_id:{t}": v for t, v in best.items()})
                values.append(best[token])
                before.append(token)
            tokens = [f"token_id:{token}" for token in answer]
            choice["logprobs"] = {
                "tokens": tokens,
                "token_logprobs": values,
                "top_logprobs": tops,
            }
        return choice


async def _arriving(running: Running) -> Any:
    while (token := await running.arrived.get()) is not None:
        yield token


async def _event(response: web.StreamResponse, message: dict[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(message).encode() + b"\n\n")


def _chunk(tokens: list[int]) -> dict[str, Any]:
    text = "".join(f" t{token}" for token in tokens)
    return {"choices": [{"index": 0, "text": text, "token_ids": tokens}]}


def serve(given: Namespace) -> int:
    """Serve until a signal; the exit code otherwise."""
    say(f"  version {VERSION}")
    say_arguments(given)
    if not (Path(given.model) / "config.json").exists():
        say_traceback(f"OSError: {given.model} does not appear to have a file named config.json")
        return 1
    if option(given, "block_size", 128) == 16:
        say_traceback("ValueError: block size 16 is not supported on this device")
        return 1
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((given.host, given.port))
    except OSError as error:
        say_traceback(f"OSError: {error}")
        return 1
    # what vLLM calls its engine core; only a clean end takes it along
    engine = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    say(f"engine core is process {engine.pid}", "EngineCore")
    if fault("hang_at_start") is not None:
        time.sleep(600)
    device.hold(device.HELD_BYTES)
    say_engine(given)
    say("Starting vLLM server")
    try:
        web.run_app(Api(given).application(), sock=listener, print=None, access_log=None)
    finally:
        engine.kill()
        engine.wait()
        if fault("keep_memory") is None:
            device.hold(-device.HELD_BYTES)
    return 0
