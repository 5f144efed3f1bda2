"""The client counts tokens by ids, by the server's usage, or by events, and sees errors."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from arbor.targets.openai_client import LoadResult, run_load


@dataclass(frozen=True)
class Request:
    """A request of three prompt tokens."""

    num_prompt_tokens: int | None = 3

    def body(self) -> Mapping[str, Any]:
        return {"stream": True}


@contextmanager
def serving(lines: Sequence[bytes]) -> Iterator[int]:
    """Serve the same stream for every request."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            for line in lines:
                self.wfile.write(line)
                self.wfile.flush()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def event(**fields: Any) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def text(piece: str) -> bytes:
    return event(choices=[{"text": piece}])


DONE = b"data: [DONE]\n\n"


def played(*lines: bytes, number: int = 2) -> LoadResult:
    with serving(lines) as port:
        return run_load([Request()] * number, port=port, concurrency=2, limit_s=20)


def test_token_ids_count_themselves() -> None:
    ids = [event(choices=[{"token_ids": [1, 2]}]), event(choices=[{"token_ids": [3]}])]
    result = played(*ids, DONE)
    assert (result.completed, result.total_output_tokens, result.num_chunks) == (2, 6, 4)
    assert result.is_counted
    assert result.total_input_tokens == 6


def test_text_is_counted_by_the_server() -> None:
    usage = event(choices=[], usage={"prompt_tokens": 7, "completion_tokens": 5})
    result = played(text("a"), text("b"), usage, DONE)
    assert (result.total_output_tokens, result.total_input_tokens) == (10, 14)
    assert result.num_chunks == 4
    assert result.is_counted


def test_without_a_count_events_stand_for_tokens() -> None:
    result = played(text("a"), text("b"), DONE)
    assert result.total_output_tokens == 4
    assert not result.is_counted


def test_chats_and_their_reasoning() -> None:
    deltas = [{"role": "assistant"}, {"reasoning_content": "hm"}, {"content": "yes"}]
    result = played(*(event(choices=[{"delta": delta}]) for delta in deltas), DONE)
    assert (result.completed, result.num_chunks) == (2, 4)


def test_equal_answers_have_equal_digests() -> None:
    one, same = played(text("ab"), text("c"), DONE).token_digests
    assert one == same == played(text("abc"), DONE).token_digests[0]
    assert one != played(text("abd"), DONE).token_digests[0]


def test_windows_line_ends_and_comments() -> None:
    result = played(b": ping\r\n\r\n", text("a").replace(b"\n", b"\r\n"), b"data:[DONE]\r\n\r\n")
    assert (result.completed, result.total_output_tokens) == (2, 2)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([event(error={"message": "no memory"})], "the server sent an error: {'message': 'no mem"),
        ([text("a")], "stream ended without [DONE]"),
        ([b"data: {oops\n\n", DONE], "JSONDecodeError"),
        ([b"data: [1]\n\n", DONE], "AttributeError"),
        ([b'data: {"choices": [3]}\n\n', DONE], "AttributeError"),
        ([b'data: {"choices": 3}\n\n', DONE], "TypeError"),
    ],
)
def test_broken_streams_are_failures(lines: list[bytes], told: str) -> None:
    result = played(*lines)
    assert (result.completed, result.failed) == (0, 2)
    [error] = result.errors
    assert told in error
