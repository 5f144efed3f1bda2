"""Warm-ups, windows and the load of a profile: the target's workload on a server."""

import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from arbor.events.errors import InvalidInputError
from arbor.events.types import Load, WindowSample
from arbor.targets.base import STANDARD_LOAD
from arbor.targets.engine.trace import MIXES, shared_prefix_tokens
from arbor.targets.load_window import RequestLoad, play
from arbor.targets.vllm.bench_window import BenchLoad, measure_bench_window
from arbor.targets.vllm.config import VllmTargetConfig
from arbor.targets.vllm.devices import Devices
from arbor.targets.vllm.model_facts import Model
from arbor.targets.vllm.requests import (
    CompletionRequest,
    TokenSource,
    build_requests,
    prose,
    tokenised,
)
from arbor.targets.vllm.screening import ScreeningServer
from arbor.targets.vllm.server import VllmServer
from arbor.targets.vllm.window import ServerSide, measure_window

_WARMUP_LOADS = 2
_WARMUP_PART = 3
"""Every request of a warm-up asks for this part of its tokens."""
_WARMUP_S = 5.0


class Prompted(Protocol):
    """What is asked before prompts are drawn for it.

    Attributes:
        name: of the model, in requests.
    """

    name: str

    def tokens(self, text: str) -> list[int]:
        """Return a text in the model's tokens."""
        ...

    def max_model_len(self, phase: str) -> int | None:
        """Return the longest sequence that is taken; None when it is not told."""
        ...


class Windows:
    """Plays the workload of a target; one for all its servers.

    Args:
        config: workload, client and limits.
        model: what is served.
        devices: accelerators in use.
        command: words that run vLLM's command line.
        env: environment of the client that is a program of its own.

    Attributes:
        model: as above.
    """

    def __init__(
        self,
        config: VllmTargetConfig,
        model: Model,
        devices: Devices,
        command: Sequence[str],
        env: Mapping[str, str],
    ) -> None:
        self._config = config
        self.model = model
        self._devices = devices
        self._command = tuple(command)
        self._env = dict(env)
        self._paragraphs: tuple[tuple[int, ...], ...] | None = None

    def source(self, server: Prompted, dataset: str) -> TokenSource:
        """Return what draws the prompts of a dataset.

        Args:
            server: turns prose into the model's tokens, once for all servers.
            dataset: ``random`` or ``text``.

        Raises:
            InvalidInputError: the model does not tell its vocabulary.
            ServerFailedError: the server does not answer.
        """
        if dataset == "text":
            if self._paragraphs is None:
                self._paragraphs = tokenised(prose(), server.tokens)
            return TokenSource(self.model.vocab_size or 1, self._paragraphs)
        if self.model.vocab_size is None:
            raise InvalidInputError(
                f"{self.model.path}/config.json has no vocab_size; use dataset: text"
            )
        return TokenSource(self.model.vocab_size)

    def requests(
        self, server: Prompted, seed: int, num_requests: int, workload: str = ""
    ) -> tuple[CompletionRequest, ...]:
        """Return the requests of a window; no prefix cache knows the prompts of another.

        Raises:
            ServerFailedError: the server does not answer.
        """
        return build_requests(
            self._config.workload,
            MIXES[workload],
            self.source(server, self._config.workload.dataset),
            seed=seed,
            num_requests=num_requests,
            model=server.name,
            salt=_salt(),
            max_length=server.max_model_len("benchmark"),
        )

    def play(self, server: VllmServer, phase: str, seed: int, num_requests: int) -> None:
        """Play the workload without looking at it.

        Raises:
            ServerFailedError: the server failed, hung, or completed nothing.
        """
        play(server, phase, self._load(self.requests(server, seed, num_requests)))

    def warmup(self, server: VllmServer, seed: int) -> None:
        """Play short requests, one per place of the client's concurrency and load.

        Raises:
            ServerFailedError: the server failed, hung, or completed nothing.
        """
        started_s = time.monotonic()
        for number in range(_WARMUP_LOADS):
            asked = self.requests(server, seed + number, self._config.workload.concurrency)
            shortened = [
                replace(r, max_tokens=max(min(2, r.max_tokens), r.max_tokens // _WARMUP_PART))
                for r in asked
            ]
            play(server, "start", self._load(shortened))
            if time.monotonic() - started_s > _WARMUP_S:
                break
        # what is logged by the first requests belongs to the start
        server.read_log()

    def measure(
        self, server: VllmServer, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Play one window and return all that was seen.

        Raises:
            ServerFailedError: the server failed, hung, or completed nothing.
        """
        concurrency = load.concurrency or self._config.workload.concurrency
        side = ServerSide(server, self._devices.read, self._devices.numbers)
        is_invariant = self._config.is_batch_invariant
        if self._config.client == "bench":
            planned = BenchLoad(
                workload=self._config.workload,
                mix=MIXES[load.workload],
                num_requests=num_requests,
                concurrency=concurrency,
                seed=seed,
                salt=_salt(),
                limit_s=self._config.load_limit_s,
            )
            return measure_bench_window(
                server,
                planned,
                side,
                command=self._command,
                env=self._env,
                tokeniser=self._tokeniser(server),
                is_batch_invariant=is_invariant,
            )
        asked = self.requests(server, seed, num_requests, load.workload)
        sample = measure_window(
            server, self._load(asked, concurrency), seed, side, is_batch_invariant=is_invariant
        )
        return sample.model_copy(update={"num_shared_input_tokens": shared_prefix_tokens(asked)})

    def screen(
        self, server: ScreeningServer, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Play one window on a worker, which proves nothing.

        Raises:
            ServerFailedError: the worker failed or hung.
        """
        concurrency = load.concurrency or self._config.workload.concurrency
        asked = self.requests(server, seed, num_requests, load.workload)
        return server.window(asked, concurrency, seed, self._config.load_limit_s)

    def _tokeniser(self, server: VllmServer) -> Path:
        return Path(str(server.config.get("args.tokenizer", self.model.path)))

    def _load(
        self, asked: Sequence[CompletionRequest], concurrency: int | None = None
    ) -> RequestLoad:
        return RequestLoad(
            asked,
            concurrency or self._config.workload.concurrency,
            self._config.load_limit_s,
        )


def _salt() -> str:
    return f"arbor-{os.getpid()}-{uuid.uuid4().hex}"
