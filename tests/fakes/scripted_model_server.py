"""A server on loopback that speaks OpenAI's protocol and answers by a script."""

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

NUM_PROMPT_TOKENS = 11
NUM_COMPLETION_TOKENS = 7


@dataclass(frozen=True, slots=True)
class Scripted:
    """One answer of the script.

    Attributes:
        text: what the model says.
        tool_calls: tools that it wants called: name and arguments as JSON text.
        status: of HTTP; above 399 ``text`` is the error's message.
        retry_after_s: header of that name.
        finish_reason: None for the usual one.
        refusal: what it says instead of an answer.
        usage: tokens of prompt and reply that it claims; None: it claims nothing.
        body: sent as it is, instead of all this.
        delay_s: wait before the first byte.
        byte_s: wait between two bytes: a stream that is slow and never silent for long.
        is_cut: the connection breaks in the middle of the answer.
    """

    text: str = ""
    tool_calls: tuple[tuple[str, str], ...] = ()
    status: int = 200
    retry_after_s: float | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    usage: tuple[int, int] | None = (NUM_PROMPT_TOKENS, NUM_COMPLETION_TOKENS)
    body: bytes | None = None
    delay_s: float = 0.0
    byte_s: float = 0.0
    is_cut: bool = False

    def payload(self, model: str) -> bytes:
        """Return the body of the response."""
        if self.body is not None:
            return self.body
        if self.status >= 400:
            return json.dumps({"error": {"message": self.text, "type": "scripted"}}).encode()
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.refusal is not None:
            message["refusal"] = self.refusal
        if self.tool_calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{number}",
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                }
                for number, (name, arguments) in enumerate(self.tool_calls, start=1)
            ]
        usual = "tool_calls" if self.tool_calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason or usual}
        answer: dict[str, Any] = {
            "id": "chatcmpl-scripted",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [choice],
        }
        if self.usage is not None:
            prompt, completion = self.usage
            answer["usage"] = {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            }
        return json.dumps(answer).encode()


Script = Sequence[Scripted] | Callable[[Mapping[str, Any]], Scripted]
"""Answers in order, the last one for ever; or what chooses one by the request."""


@dataclass(slots=True)
class ScriptedModelServer:
    """Serves while its block runs; every request is kept.

    Attributes:
        script: what is answered.
        requests: bodies of the requests, in order of arrival.
        authorizations: their headers of that name.
        most_at_once: most requests that were open at once.
    """

    script: Script
    requests: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    most_at_once: int = 0
    _num_open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _server: "_Server | None" = None

    @property
    def api_base(self) -> str:
        """Address of the server."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    def begin(self, body: dict[str, Any], authorization: str) -> Scripted:
        """Note a request and return its answer."""
        with self._lock:
            self.requests.append(body)
            self.authorizations.append(authorization)
            self._num_open += 1
            self.most_at_once = max(self.most_at_once, self._num_open)
            if callable(self.script):
                return self.script(body)
            return self.script[min(len(self.requests), len(self.script)) - 1]

    def end(self) -> None:
        """Note that a request is about to be answered."""
        with self._lock:
            self._num_open -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, scripted: ScriptedModelServer) -> None:
        self.scripted = scripted
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        scripted = self.server.scripted
        answer = scripted.begin(body, self.headers.get("Authorization", ""))
        if answer.delay_s:
            time.sleep(answer.delay_s)
        # before the client can know: its next request must not meet this one as still open
        scripted.end()
        try:
            self._send(answer, answer.payload(str(body.get("model"))))
        except OSError:
            # the client waits no longer
            self.close_connection = True

    def _send(self, answer: Scripted, payload: bytes) -> None:
        head = [f"HTTP/1.1 {answer.status} Scripted", "Content-Type: application/json"]
        head.append(f"Content-Length: {len(payload)}")
        if answer.retry_after_s is not None:
            head.append(f"Retry-After: {answer.retry_after_s:g}")
        if answer.is_cut:
            payload = payload[: len(payload) // 2]
        data = ("\r\n".join(head) + "\r\n\r\n").encode() + payload
        if answer.byte_s:
            for byte in data:
                self.wfile.write(bytes([byte]))
                time.sleep(answer.byte_s)
        else:
            # in one write: two would wait for each other's acknowledgement
            self.wfile.write(data)
        if answer.is_cut:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
