"""A program with the interface of a server of models: speed, numbers and faults by its options.

Run as ``python model_server.py --port PORT [options]``. The token after a text follows
from its hash, so equal texts have equal answers; ``--bits`` below 16 disturbs the numbers.
"""

import argparse
import hashlib
import json
import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

VOCABULARY = [f" w{index}" for index in range(50)]
STEP_S = 0.004
"""Time of one token in one batch with one thread."""


def options(words: list[str]) -> argparse.Namespace:
    """Return the options of a command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bits", type=int, default=16)
    parser.add_argument("--turbo", action="store_true")
    parser.add_argument("--deaf", action="store_true", help="say one thing, do another")
    parser.add_argument("--config", default="")
    parser.add_argument("--traces", default="")
    parser.add_argument("--fault", default="none")
    return parser.parse_args(words)


class Model:
    """What the server computes, and what it counts."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.options = chosen
        self.counters = {"requests": 0, "tokens": 0, "turbo_steps": 0}
        self.lock = threading.Lock()
        self.started_ns = time.monotonic_ns()

    def logprobs(self, text: str) -> list[float]:
        """Return the log-probs of the vocabulary after a text."""
        digest = hashlib.sha256(text.encode()).digest()
        places = range(len(VOCABULARY))
        # the last term tells equal ones apart
        logits = [6.0 * ((digest[i % 32] * (i + 7)) % 251) / 251 + 7e-4 * i for i in places]
        if self.options.bits < 16:
            scale, best = (0.05 if self.options.bits >= 8 else 4.0), max(logits)
            logits = [
                x - scale * abs(math.sin(9.7 * i + digest[0])) * (scale > 1 or x < best)
                for i, x in enumerate(logits)
            ]
        total = math.log(sum(map(math.exp, logits)))
        return [x - total for x in logits]

    def tokens(self, text: str, number: int) -> Iterator[tuple[str, list[float]]]:
        """Yield greedy tokens with all log-probs, each after its time."""
        for _ in range(number):
            time.sleep(STEP_S / self.options.threads / (2 if self.options.turbo else 1))
            found = self.logprobs(text)
            best = max(range(len(found)), key=found.__getitem__)
            with self.lock:
                self.counters["tokens"] += 1
                self.counters["turbo_steps"] += self.options.turbo
            text += VOCABULARY[best]
            yield VOCABULARY[best], found


class Handler(BaseHTTPRequestHandler):
    """Answers requests of one connection."""

    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer questions about the server."""
        chosen = self.model.options
        if chosen.fault == "unhealthy" and self.model.counters["requests"] > 3:
            self._send(503, b"unhealthy")
        elif self.path == "/health":
            self._send(503 if chosen.fault == "never_ready" else 200, b"{}")
        elif self.path == "/props":
            threads = 1 if chosen.deaf else chosen.threads
            told = {"settings": [{"threads": threads, "turbo": chosen.turbo}]}
            self._send(200, json.dumps(told).encode())
        elif self.path == "/metrics":
            lines = ["# TYPE fake_tokens_total counter"]
            lines += [f"fake_{k}_total {v}" for k, v in self.model.counters.items()]
            self._send(200, "\n".join(lines).encode())
        else:
            self._send(404, b"no such page")

    def do_POST(self) -> None:
        """Answer completions, and start and stop the profiler."""
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        if self.path in {"/v1/completions", "/v1/chat/completions"}:
            self._complete(body)
        elif self.path == "/start_profile":
            self.model.started_ns = time.monotonic_ns()
            self._send(200, b"")
        elif self.path == "/stop_profile":
            self._write_trace()
            self._send(200, b"")
        elif self.path == "/echo":
            text = f"{body.get('text', '')} {self.model.options.bits >= 8}"
            self._send(200, json.dumps({"answer": text}).encode())
        else:
            self._send(404, b"no such page")

    def _complete(self, body: dict[str, Any]) -> None:
        with self.model.lock:
            self.model.counters["requests"] += 1
            number = self.model.counters["requests"]
        fault = self.model.options.fault
        if fault == "die" and number > 20:
            os._exit(9)
        if fault == "hang" and number > 6:
            time.sleep(600)
        if fault == "fail" and number % 5 == 0:
            self._send(500, b"internal error")
            return
        if fault == "garbage":
            self._send(200, b"\xff\xfe <html>\n\ndata: {oops\n\n")
            return
        text = body.get("prompt") or body["messages"][0]["content"]
        tokens = self.model.tokens(str(text), int(body["max_tokens"]))
        if body.get("stream"):
            self._stream(text, body, tokens)
        else:
            self._answer(body, list(tokens))

    def _stream(self, text: Any, body: dict[str, Any], tokens: Iterator[Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        number = 0
        for token, _ in tokens:
            number += 1
            choice = {"text": token} if "prompt" in body else {"delta": {"content": token}}
            self._event({"choices": [choice]})
        words = len(text.split()) if isinstance(text, str) else len(text)
        usage = {"prompt_tokens": words, "completion_tokens": number}
        if body.get("stream_options"):
            self._event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(self, event: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.flush()

    def _answer(self, body: dict[str, Any], tokens: list[tuple[str, list[float]]]) -> None:
        number = int(body.get("logprobs", 0))
        rows = []
        for _, found in tokens:
            ranked = sorted(zip(VOCABULARY, found, strict=True), key=lambda pair: -pair[1])
            rows.append(dict(ranked[:number]))
        logprobs = {"tokens": [token for token, _ in tokens], "top_logprobs": rows}
        text = "".join(token for token, _ in tokens)
        answer = {"choices": [{"text": text, "logprobs": logprobs if number else None}]}
        self._send(200, json.dumps(answer).encode())

    def _write_trace(self) -> None:
        events = [
            {"ph": "X", "cat": "kernel", "name": "Cijk_Ailk", "ts": 0, "dur": 700, "pid": 0},
            {"ph": "X", "cat": "kernel", "name": "_fwd_kernel", "ts": 700, "dur": 300, "pid": 0},
        ]
        folder = Path(self.model.options.traces)
        name = f"rank0.{self.model.started_ns}.pt.trace.json"
        (folder / name).write_text(json.dumps({"traceEvents": events}))

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """Listens with a long queue, and does not wait for its threads at the end."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that went away."""


def main(words: list[str]) -> None:
    """Serve for ever, or fail as told."""
    chosen = options(words)
    if chosen.config:
        vars(chosen).update(json.loads(Path(chosen.config).read_text()))
    if chosen.fault == "exit":
        sys.exit("CUDA error: out of memory")
    if chosen.fault == "flood":
        for index in range(40_000):
            sys.stdout.write(f"{'x' * 100} {index}\n")
    sys.stdout.write(f"threads = {chosen.threads}, turbo = {chosen.turbo}\n")
    sys.stdout.flush()
    Handler.model = Model(chosen)
    Server((chosen.host, chosen.port), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
