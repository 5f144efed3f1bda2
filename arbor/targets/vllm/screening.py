"""Trials on an engine inside one process: sooner started than a server, and never evidence."""

import http.client
import json
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arbor.events.errors import InvalidInputError
from arbor.events.types import Scalar, WindowSample
from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess
from arbor.targets.http_server import HttpServer
from arbor.targets.serve_yaml import CONFIG_FILE, load_config
from arbor.targets.vllm.arguments import MODEL_KEY, BadOptionError, command_line
from arbor.targets.vllm.config import VllmTargetConfig
from arbor.targets.vllm.installation import Installation
from arbor.targets.vllm.installed import interpreter_of
from arbor.targets.vllm.requests import CompletionRequest
from arbor.targets.vllm.starting import HOST, read_worktree

WORKER = Path(__file__).with_name("screening_worker.py")
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # two threads make the numbers differ from run to run
    "OMP_NUM_THREADS": "1",
}
UNSEEN_IN_PROCESS = frozenset(
    (
        "args.api-server-count",
        "args.data-parallel-size",
        "args.decode-context-parallel-size",
        "args.distributed-executor-backend",
        "args.enable-expert-parallel",
        "args.pipeline-parallel-size",
        "args.renderer-num-workers",
        "args.stream-interval",
        "args.tensor-parallel-size",
        "env.LD_PRELOAD",
        "env.OMP_NUM_THREADS",
        "env.VLLM_CPU_NUM_OF_RESERVED_CPU",
        "env.VLLM_CPU_OMP_THREADS_BIND",
        "env.VLLM_ENABLE_V1_MULTIPROCESSING",
        "env.VLLM_USE_RUST_FRONTEND",
    )
)
"""What acts on the front end, on threads or on several processes, of which there are none."""


class ScreeningServer(HttpServer):
    """Implements ``Server`` for a worker; every failure becomes a ``ServerFailedError``.

    Args:
        child: the worker's process.
        port: where it listens.
        request_limit_s: limit of an answer that says how it is.
        config: of ``serve.yaml``.

    Attributes:
        name: of the model, in requests.
    """

    name = "screened"

    def __init__(
        self, child: ChildProcess, port: int, request_limit_s: float, config: Mapping[str, Scalar]
    ) -> None:
        super().__init__(child, HOST, port, request_limit_s)
        self._config = dict(config)

    def is_ready(self) -> bool:
        """Return whether this very worker, and no other on its port, answers."""
        try:
            told = json.loads(self.exchange("GET", "/health", None, 1.0))
            return bool(told["pid"] == self.child.pid)
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            return False

    def resolved_config(self) -> dict[str, Scalar]:
        """Return what was asked for: a worker proves nothing."""
        return dict(self._config)

    def tokens(self, text: str) -> list[int]:
        """Return a text in the model's tokens.

        Raises:
            ServerFailedError: the worker failed.
        """
        return [int(t) for t in self.ask("screening", "POST", "/tokenise", {"text": text})]

    def max_model_len(self, phase: str) -> int | None:
        """Return the longest sequence that the worker takes.

        Raises:
            ServerFailedError: the worker does not answer.
        """
        return int(self.ask(phase, "GET", "/health")["max_model_len"])

    def window(
        self, requests: Sequence[CompletionRequest], concurrency: int, seed: int, limit_s: float
    ) -> WindowSample:
        """Play requests.

        Args:
            requests: what is played.
            concurrency: requests that are open at once.
            seed: of the requests.
            limit_s: limit of the whole.

        Raises:
            ServerFailedError: the worker failed or hung, or answered fewer tokens.
        """
        body = {
            "prompts": [list(request.prompt) for request in requests],
            "output_tokens": [request.max_tokens for request in requests],
            "open_at_once": concurrency,
        }
        with self.time_limit("screening", limit_s):
            text = self.ask_text("screening", "POST", "/play", body, limit_s)
        return _sample(json.loads(text), requests, concurrency, seed)


def _sample(
    told: Any, requests: Sequence[CompletionRequest], concurrency: int, seed: int
) -> WindowSample:
    duration_s, num_output = float(told["duration_s"]), int(told["num_output_tokens"])
    num_input = sum(len(request.prompt) for request in requests)
    return WindowSample(
        duration_s=duration_s,
        throughput_tok_s=num_output / duration_s,
        num_completed=len(told["whole_request_s"]),
        num_failed=len(requests) - len(told["whole_request_s"]),
        num_input_tokens=num_input,
        num_output_tokens=num_output,
        num_planned_requests=len(requests),
        num_planned_input_tokens=num_input,
        num_planned_output_tokens=sum(request.max_tokens for request in requests),
        num_concurrent_planned=concurrency,
        ttft_ms_mean=_mean_ms(told["first_token_s"]),
        e2e_ms_mean=_mean_ms(told["whole_request_s"]),
        server_cpu_s=float(told["cpu_s"]),
        seed=seed,
    )


def _mean_ms(seconds: Sequence[float]) -> float | None:
    return statistics.fmean(seconds) * 1e3 if seconds else None


def can_show(worktree: Path, baseline: Mapping[str, Scalar]) -> bool:
    """Return whether a worker runs all of a worktree's changes to the baseline."""
    try:
        config = load_config((worktree / CONFIG_FILE).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, InvalidInputError):
        # the server's start says what is wrong
        return False
    return all(config.get(key) == baseline.get(key) for key in UNSEEN_IN_PROCESS)


class ScreeningStarter:
    """Knows a worker's command line.

    Args:
        config: limits.
        installation: the vLLM that it runs on.
        environment: returns a server's environment for a configuration.
        choose_port: returns a port that is free on a host.
    """

    def __init__(
        self,
        config: VllmTargetConfig,
        installation: Installation,
        environment: Callable[[Mapping[str, Scalar]], dict[str, str]],
        choose_port: Callable[[str], int],
    ) -> None:
        self._config = config
        self._installation = installation
        self._environment = environment
        self._choose_port = choose_port

    @contextmanager
    def start(self, worktree: Path, log_path: Path) -> Iterator[ScreeningServer]:
        """Start a worker and wait until it is ready; end it on exit.

        Args:
            worktree: holds ``serve.yaml``.
            log_path: file of the worker's output.

        Raises:
            ServerFailedError: the configuration is refused, or vLLM ended or was not ready in
                time.
        """
        config = read_worktree(worktree, log_path)
        try:
            words = command_line(config, self._installation.options, self._installation.version)
            env = self._environment(config)
        except (BadOptionError, InvalidInputError) as error:
            raise ServerFailedError("start", str(error)) from error
        interpreter = interpreter_of(self._installation.command)
        if interpreter is None:
            raise ServerFailedError("start", "the vllm program does not name its interpreter")
        model = str(config.get(MODEL_KEY, self._config.model))
        port = self._choose_port(HOST)
        child = ChildProcess(
            [*interpreter, "-P", os.fspath(WORKER), str(port), model, *words],
            {**env, **ENVIRONMENT},
            worktree,
            log_path,
            log_limit_bytes=self._config.log_limit_bytes,
        )
        server = ScreeningServer(child, port, self._config.request_limit_s, config)
        with child:
            child.wait_ready(server.is_ready, self._config.start_limit_s)
            yield server
