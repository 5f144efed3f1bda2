"""The ``engine`` target: the embedded inference engine, started as a server and measured."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from arbor.events.errors import InvalidInputError
from arbor.events.types import (
    AccuracySample,
    ActionTemplate,
    CategoryShare,
    Hardware,
    Profile,
    Scalar,
    WindowSample,
)
from arbor.targets.base import Server, ServerFailedError
from arbor.targets.child import ChildProcess, clean_environment, free_port
from arbor.targets.engine.accuracy import AccuracyCheck
from arbor.targets.engine.catalog import engine_catalog
from arbor.targets.engine.config import EngineTargetConfig
from arbor.targets.engine.model_cache import cache_folder, import_root, synthetic_model
from arbor.targets.engine.model_folder import inspect_model, planted_successors
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.server.errors import EXIT_PORT_BUSY, ModelFolderError
from arbor.targets.engine.server.settings import switches
from arbor.targets.engine.trace import TraceRequest, build_trace
from arbor.targets.engine.window import Load, measure_window, play
from arbor.targets.serve_yaml import CONFIG_FILE, dump_config

__all__ = ["EngineTarget", "EngineTargetConfig"]

_HOST = "127.0.0.1"
_PORT_TRIES = 3


class EngineTarget:
    """Implements ``Target`` over the embedded engine.

    Attributes:
        config: what it was made from.
    """

    name = "engine"

    def __init__(
        self, config: EngineTargetConfig, choose_port: Callable[[str], int] = free_port
    ) -> None:
        self.config = config
        self._choose_port = choose_port
        self._cache = cache_folder(config.cache)

    @cached_property
    def model(self) -> Path:
        """Folder of the model, checked.

        Raises:
            InvalidInputError: the engine cannot load it, or it cannot be made.
        """
        path = self.config.model or synthetic_model(self.config.synthetic, self._cache)
        try:
            inspect_model(path)
        except ModelFolderError as error:
            raise InvalidInputError(str(error)) from error
        return path

    def check(self, hardware: Hardware) -> None:  # noqa: ARG002 - the engine runs on any CPU
        """Check torch, the compiler and the model before anything starts.

        Raises:
            InvalidInputError: something is missing; one line with the fix.
        """
        if find_spec("torch") is None:
            raise InvalidInputError(
                "the engine needs torch: pip install 'arbor-inference[engine]'"
            )
        compiler = os.environ.get("CXX", "g++")
        if which(compiler) is None:
            raise InvalidInputError(
                f"no C++ compiler {compiler!r} for the engine's operators: apt-get install g++, "
                "or set CXX"
            )
        _ = self.model

    def create_workspace(self, path: Path) -> None:
        """Write all switches at their defaults, and what the baseline's numbers depend on.

        Raises:
            InvalidInputError: the model cannot be loaded or made.
        """
        (path / CONFIG_FILE).write_bytes(dump_config(self.baseline_config()))
        with (self.model / "config.json").open("rb") as file:
            model_digest = hashlib.file_digest(file, "sha256").hexdigest()
        lock = {
            "python": ".".join(map(str, sys.version_info[:3])),
            "torch": version("torch"),
            "model": self.model.name,
            "model_config_sha256": model_digest,
        }
        (path / "environment.lock").write_text(json.dumps(lock, indent=2) + "\n")

    def baseline_config(self) -> dict[str, Scalar]:
        """Return every switch at its default, with the head's number format spelt out."""
        config = {f"{switch.section}.{switch.name}": switch.default for switch in switches()}
        # "same" would let an action on the layers change the head too
        return {**config, "kernel.head_weights": "float32"}

    def actions(self, hardware: Hardware) -> Sequence[ActionTemplate]:
        """Return the engine's catalog."""
        return engine_catalog(hardware.num_cores, self.config.concurrency)

    @contextmanager
    def serve(self, worktree: Path, log_path: Path) -> Iterator[EngineServer]:
        """Start the engine with the ``serve.yaml`` of a worktree.

        Raises:
            InvalidInputError: the model cannot be loaded or made.
            ServerFailedError: the engine ended or was not ready in time.
        """
        for tries_left in reversed(range(_PORT_TRIES)):
            port = self._choose_port(_HOST)
            child = self._child(worktree, log_path, port)
            server = EngineServer(child, _HOST, port, self.config.request_limit_s)
            with child:
                try:
                    child.wait_ready(server.is_ready, self.config.start_limit_s)
                except ServerFailedError as error:
                    if error.exit_code == EXIT_PORT_BUSY and tries_left:
                        continue
                    raise
                yield server
                return

    def warmup(self, server: Server, seed: int) -> None:
        """Play one request per place of the client's concurrency.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        own = _own(server)
        self._play(own, "start", self._trace(seed, self.config.concurrency))

    def profile(self, server: Server, seed: int) -> Profile:
        """Return the engine's own thread-time shares under the benchmark's load.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        own = _own(server)
        own.ask("profile", "POST", "/reset")
        own.ask("profile", "POST", "/profile/start")
        self._play(own, "profile", self._trace(seed, self.config.num_requests))
        profile = own.ask("profile", "POST", "/profile/stop")
        return Profile(
            shares=tuple(
                CategoryShare(category=category, share_ratio=min(max(share, 0.0), 1.0))
                for category, share in profile["shares"].items()
            ),
            window_s=profile["wall_s"],
            source="engine thread time",
        )

    def benchmark(self, server: Server, seed: int, num_requests: int) -> WindowSample:
        """Play one window from an empty prefix cache.

        Raises:
            ServerFailedError: the server failed, hung, or completed nothing.
        """
        own = _own(server)
        trace = self._trace(seed, num_requests)
        own.ask("benchmark", "POST", "/reset")
        return measure_window(own, self._load(trace), seed)

    def reference(self, server: Server) -> bytes:
        """Return the server's scores, one sequence at a time, and greedy answers.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        return self._accuracy_check.reference(_own(server))

    def accuracy(self, server: Server, reference: bytes) -> AccuracySample:
        """Return the worse of the distances at batch 1 and at a full batch.

        Raises:
            InvalidInputError: the reference belongs to another model or other prompts.
            ServerFailedError: the server failed or hung.
        """
        return self._accuracy_check.accuracy(_own(server), reference)

    def default_num_requests(self) -> int:
        """Return the configured number, which lasts about three seconds on the baseline."""
        return self.config.num_requests

    def _child(self, worktree: Path, log_path: Path, port: int) -> ChildProcess:
        arguments = {
            "--config": worktree.resolve() / CONFIG_FILE,
            "--model": self.model.resolve(),
            "--host": _HOST,
            "--port": port,
        }
        words = [str(word) for pair in arguments.items() for word in pair]
        extra = {
            "PYTHONPATH": str(import_root(self._cache)),
            "PYTHONUNBUFFERED": "1",
            "ARBOR_ENGINE_CACHE": str(self._cache / "operators"),
            "TORCHINDUCTOR_CACHE_DIR": str(self._cache / "inductor"),
        }
        if compiler := os.environ.get("CXX"):
            extra["CXX"] = compiler
        return ChildProcess(
            [sys.executable, "-m", "arbor.targets.engine.server", *words],
            clean_environment(extra),
            worktree,
            log_path,
        )

    @cached_property
    def _successors(self) -> Any:
        return planted_successors(self.model)

    @cached_property
    def _accuracy_check(self) -> AccuracyCheck:
        return AccuracyCheck(self.config.check, self.model, self._successors)

    def _trace(self, seed: int, num_requests: int) -> tuple[TraceRequest, ...]:
        return build_trace(
            seed,
            num_requests=num_requests,
            vocab_size=inspect_model(self.model).vocab_size,
            successors=self._successors,
            length_scale=self.config.length_scale,
        )

    def _play(self, server: EngineServer, phase: str, trace: Sequence[TraceRequest]) -> None:
        play(server, phase, self._load(trace))

    def _load(self, trace: Sequence[TraceRequest]) -> Load:
        return Load(trace, self.config.concurrency, self.config.load_limit_s)


def _own(server: Server) -> EngineServer:
    if not isinstance(server, EngineServer):
        raise TypeError(f"{type(server).__name__} was not started by the engine target")
    return server
