"""The program as Arbor uses it: started, loaded over HTTP, asked, and ended by a signal."""

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from arbor.targets.engine.trace import TraceRequest
from arbor.targets.openai_client import run_load

from .tiny import EXACT_STACK

_START_TIMEOUT_S = 60.0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _command(config: Path, model: Path, port: int) -> list[str]:
    program = [sys.executable, "-m", "arbor.targets.engine.server"]
    return [*program, "--config", str(config), "--model", str(model), "--port", str(port)]


def _write(path: Path, document: object) -> Path:
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Running:
    """A server that is up."""

    port: int
    process: subprocess.Popen[bytes]

    def ask(self, path: str, body: object = None) -> Any:
        """GET, or POST if there is a body; gives the parsed JSON of a good answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data)
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  loopback
            return json.load(answer)


@contextlib.contextmanager
def _server(config: Path, model: Path) -> Iterator[Running]:
    port = _free_port()
    process = subprocess.Popen(_command(config, model, port))
    server = Running(port, process)
    try:
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                server.ask("/health")
                break
            except OSError:
                assert process.poll() is None, "the server ended while starting"
                assert time.monotonic() < deadline_s, "the server did not start in time"
                time.sleep(0.05)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Running]:
    dispatch = {
        "malloc": "arena_tuned",
        "gc": "frozen",
        "affinity": "pinned",
        "denormals": "flushed",
    }
    config = tmp_path_factory.mktemp("config") / "serve.yaml"
    with _server(_write(config, EXACT_STACK | {"dispatch": dispatch}), tiny_model) as running:
        yield running
    assert running.process.returncode == 0


def test_a_trace_streams_the_tokens_of_the_baseline(
    server: Running, tiny_trace: tuple[TraceRequest, ...], baseline_tokens: list[list[int]]
) -> None:
    result = run_load(tiny_trace, port=server.port, concurrency=4)
    assert result.errors == ()
    assert (result.completed, result.failed) == (len(tiny_trace), 0)
    assert result.total_output_tokens == sum(request.max_tokens for request in tiny_trace)
    assert result.total_input_tokens == sum(len(request.prompt) for request in tiny_trace)
    assert result.output_throughput_tok_s > 0
    assert 0 < result.ttft.p50_ms <= result.ttft.p95_ms <= result.ttft.p99_ms
    again = run_load(tiny_trace, port=server.port, concurrency=9)
    assert again.token_digests == result.token_digests
    first = server.ask("/v1/completions", tiny_trace[0].body() | {"stream": False})
    assert first["choices"][0]["token_ids"] == baseline_tokens[0]
    assert first["choices"][0]["finish_reason"] == "length"
    assert first["choices"][0]["text"] == " ".join(map(str, baseline_tokens[0]))
    num_prompt, num_output = len(tiny_trace[0].prompt), tiny_trace[0].max_tokens
    assert first["usage"] == {
        "prompt_tokens": num_prompt,
        "completion_tokens": num_output,
        "total_tokens": num_prompt + num_output,
    }


def test_a_stream_ends_with_reason_usage_and_done(server: Running) -> None:
    body = {"prompt": [1, 2, 3], "max_tokens": 4, "temperature": 0, "stream": True}
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/v1/completions", data=json.dumps(body).encode()
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  loopback
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in answer.read().decode().split("\n\n")]
    assert lines[-2:] == ["[DONE]", ""]
    events = [json.loads(line) for line in lines if line.startswith("{")]
    assert len({event["id"] for event in events}) == 1
    reasons = [event["choices"][0]["finish_reason"] for event in events[:-1]]
    assert reasons == [None, None, None, "length"]
    assert events[-1]["choices"] == []
    assert events[-1]["usage"]["completion_tokens"] == 4


def test_state_tells_switches_witnesses_and_statistics(
    server: Running, tiny_trace: tuple[TraceRequest, ...]
) -> None:
    before = server.ask("/state")
    run_load(tiny_trace, port=server.port)
    state = server.ask("/state")
    assert state["settings"]["framework"]["attention"] == "sdpa"
    assert state["settings"]["application"]["stream_interval"] == 1
    for name in ("attention.cpp", "sampler.vectorised", "decode.batched"):
        assert state["counters"][name] > before["counters"].get(name, 0)
    for name in ("malloc.arena_tuned", "gc.frozen", "affinity.pinned", "denormals.flushed"):
        assert state["counters"][name] == 1
    assert state["counters"]["matmul_precision.highest"] == 1
    assert state["peak_num_running"] == 6
    assert len(state["process"]["affinity"]) == 1
    assert state["prefix_cache"]["query_tokens"] > before["prefix_cache"]["query_tokens"]
    assert (state["num_running"], state["num_waiting"]) == (0, 0)
    assert server.ask("/v1/models")["data"][0]["id"] == "tiny"
    assert state["prefix_cache"]["blocks"] > 0
    server.ask("/reset", {})
    assert server.ask("/state")["prefix_cache"]["blocks"] == 0


def test_profile_and_score_over_http(
    server: Running, tiny_trace: tuple[TraceRequest, ...]
) -> None:
    server.ask("/profile/start", {})
    run_load(tiny_trace[:3], port=server.port)
    shares = server.ask("/profile/stop", {})["shares"]
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["http"] > 0.0
    sequences = [list(range(1, 20)), list(range(5, 40))]
    scored = server.ask("/score", {"sequences": sequences, "num_decode": 4, "batch": 64})
    assert scored["batch"] == 6
    assert [len(r["logprobs"]) for r in scored["results"]] == [18, 34]


@pytest.mark.parametrize(
    ("path", "body", "line"),
    [
        ("/v1/completions", {"prompt": "hello"}, "list of token ids"),
        ("/v1/completions", {"prompt": [1, 512]}, "outside 0 to 511"),
        ("/v1/completions", {"prompt": [1], "max_tokens": 256}, "exceed the model's 256"),
        ("/v1/completions", {"prompt": [1], "top_p": 2}, "top_p is 2; allowed: a number"),
        ("/v1/completions", [1], "must be a JSON object"),
        ("/score", {"sequences": [[1]]}, "allowed: 2 to 256"),
    ],
)
def test_bad_requests_are_told_why(server: Running, path: str, body: object, line: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.ask(path, body)
    with caught.value as answer:
        assert answer.code == 400
        assert line in json.load(answer)["error"]["message"]


def test_a_client_that_leaves_takes_its_sequence_along(server: Running) -> None:
    body = json.dumps({"prompt": [1, 2], "max_tokens": 250, "stream": True, "ignore_eos": True})
    generated = server.ask("/state")["num_generated_tokens"]
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
        assert connection.recv(64).startswith(b"HTTP/1.1 200")
    deadline_s = time.monotonic() + 20
    while server.ask("/state")["num_running"]:
        assert time.monotonic() < deadline_s
    assert server.ask("/state")["num_generated_tokens"] <= generated + 250


def test_the_server_counts_for_itself(
    server: Running, tiny_trace: tuple[TraceRequest, ...]
) -> None:
    before = server.ask("/state")
    server.ask("/reset", {})
    assert set(server.ask("/state")["peaks"].values()) == {0}
    result = run_load(tiny_trace[:3], port=server.port)
    state = server.ask("/state")
    served = {key: state["served"][key] - before["served"].get(key, 0) for key in state["served"]}
    assert served["num_requests"] == served["finish_length"] == 3
    assert served["num_output_tokens"] == result.total_output_tokens
    assert served["e2e_s"] > 0
    # short requests may have ended before the last one came
    assert 1 <= state["peaks"]["application.max_num_seqs"] <= 3
    assert state["compilations"]["num_graphs"] == 0
    assert state["debug_switches"] == []
    server.ask("/profile/start", {})
    assert server.ask("/state")["debug_switches"] == ["engine profiler"]
    server.ask("/profile/stop", {})


def test_a_request_over_its_limit_has_failed(
    server: Running, tiny_trace: tuple[TraceRequest, ...]
) -> None:
    result = run_load(tiny_trace, port=server.port, limit_s=1e-6)
    assert (result.completed, result.failed, result.rejected) == (0, len(tiny_trace), 0)


def test_a_refused_request_is_told_apart(
    server: Running, tiny_trace: tuple[TraceRequest, ...]
) -> None:
    long = dataclasses.replace(tiny_trace[0], max_tokens=300)
    result = run_load([long, *tiny_trace[1:3]], port=server.port)
    assert (result.completed, result.failed, result.rejected) == (2, 1, 1)


def test_failures_are_results_of_the_client(tiny_trace: tuple[TraceRequest, ...]) -> None:
    result = run_load(tiny_trace, port=_free_port())
    assert (result.completed, result.failed) == (0, len(tiny_trace))
    assert "ClientConnector" in result.errors[0]
    assert set(result.token_digests) == {""}
    assert result.output_throughput_tok_s == 0.0


def _end(config: Path, model: Path, port: int, **environment: str) -> tuple[int, list[str]]:
    """Exit code and lines of stderr of a server that does not start."""
    ended = subprocess.run(
        _command(config, model, port),
        capture_output=True,
        text=True,
        timeout=_START_TIMEOUT_S,
        check=False,
        env=os.environ | environment,
    )
    return ended.returncode, ended.stderr.strip().splitlines()


def test_each_reason_not_to_start_has_its_code_and_one_line(
    server: Running, tiny_model: Path, tmp_path: Path
) -> None:
    good = _write(tmp_path / "good.yaml", {})
    bad = _write(tmp_path / "bad.yaml", {"kernel": {"weights": "int4"}})
    native = _write(tmp_path / "native.yaml", EXACT_STACK)
    port = _free_port()
    code, lines = _end(bad, tiny_model, port)
    assert (code, len(lines)) == (2, 1)
    assert "kernel.weights is 'int4'; allowed: one of float32, bfloat16, int8" in lines[0]
    code, lines = _end(good, tiny_model, server.port)
    assert (code, len(lines)) == (3, 1)
    assert f"127.0.0.1:{server.port} cannot be used: Address already in use" in lines[0]
    code, lines = _end(good, tmp_path / "nowhere", port)
    assert (code, len(lines)) == (4, 1)
    assert "nowhere does not exist" in lines[0]
    code, lines = _end(
        native, tiny_model, port, CXX="no-such-g++", ARBOR_ENGINE_CACHE=str(tmp_path)
    )
    assert (code, len(lines)) == (5, 1)
    assert "needs the C++ compiler 'no-such-g++'" in lines[0]


def test_a_crash_combination_ends_with_a_traceback(tiny_model: Path, tmp_path: Path) -> None:
    kernel = {"operators": "cpp", "weights": "bfloat16"}
    document = {"kernel": kernel, "framework": {"kv_cache": "preallocated"}}
    code, lines = _end(_write(tmp_path / "serve.yaml", document), tiny_model, _free_port())
    assert code == 1
    assert lines[-1].endswith("native rms_norm takes float32 rows, not bfloat16")
    assert lines[0].startswith("Traceback")
