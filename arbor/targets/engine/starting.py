"""Starts engine servers: as new programs, or as forks of a prepared process; on a free port."""

import os
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess, clean_environment
from arbor.targets.engine.config import EngineTargetConfig
from arbor.targets.engine.model_cache import import_root
from arbor.targets.engine.prepared import PreparedProcess
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.server.errors import EXIT_PORT_BUSY
from arbor.targets.launch import launch_guard
from arbor.targets.serve_yaml import CONFIG_FILE

HOST = "127.0.0.1"
_PORT_TRIES = 3


class EngineStarter:
    """Knows an engine server's arguments and environment.

    Args:
        config: limits.
        cache: folder of what can be made again.
        choose_port: returns a port that is free on a host.
    """

    def __init__(
        self, config: EngineTargetConfig, cache: Path, choose_port: Callable[[str], int]
    ) -> None:
        self._config = config
        self._cache = cache
        self._choose_port = choose_port
        self._prepared: PreparedProcess | None = None

    @contextmanager
    def start(
        self, model: Path, worktree: Path, log_path: Path, *, is_quick: bool = False
    ) -> Iterator[EngineServer]:
        """Start a server and wait until it is ready; end it on exit.

        Args:
            model: folder of the model.
            worktree: holds ``serve.yaml`` and ``overlay/``.
            log_path: file of the server's output.
            is_quick: fork it if that is possible.

        Raises:
            ServerFailedError: the engine ended or was not ready in time.
        """
        for tries_left in reversed(range(_PORT_TRIES)):
            port = self._choose_port(HOST)
            child = self._child(model, worktree, log_path, port, is_quick=is_quick)
            server = EngineServer(child, HOST, port, self._config.request_limit_s)
            with child:
                try:
                    child.wait_ready(server.is_ready, self._config.start_limit_s)
                except ServerFailedError as error:
                    if error.exit_code == EXIT_PORT_BUSY and tries_left:
                        continue
                    raise
                yield server
                return

    def close(self) -> None:
        """End the prepared process and the servers that were forked from it; idempotent."""
        if self._prepared is not None:
            self._prepared.close()

    def _child(
        self, model: Path, worktree: Path, log_path: Path, port: int, *, is_quick: bool
    ) -> ChildProcess:
        arguments = {
            "--config": worktree.resolve() / CONFIG_FILE,
            "--model": model.resolve(),
            "--host": HOST,
            "--port": port,
        }
        words = [str(word) for pair in arguments.items() for word in pair]
        launch = launch_guard
        if is_quick and (prepared := self._prepare()).is_ready():
            launch = prepared.launch
        return ChildProcess(
            [sys.executable, "-m", "arbor.targets.engine.server", *words],
            self._environment(),
            worktree,
            log_path,
            launch=launch,
        )

    def _prepare(self) -> PreparedProcess:
        if self._prepared is None:
            self._prepared = PreparedProcess(self._environment())
            # when the target is dropped, or at the end of the process
            weakref.finalize(self, self._prepared.close)
        return self._prepared

    def _environment(self) -> dict[str, str]:
        """The same for every server: one that needs more takes care of it itself."""
        extra = {
            "PYTHONPATH": str(import_root(self._cache)),
            "PYTHONUNBUFFERED": "1",
            # numpy, which serves nothing, would start a thread for it that keeps forks away
            "OPENBLAS_NUM_THREADS": "1",
            "ARBOR_ENGINE_CACHE": str(self._cache / "operators"),
            "TORCHINDUCTOR_CACHE_DIR": str(self._cache / "inductor"),
        }
        if compiler := os.environ.get("CXX"):
            extra["CXX"] = compiler
        return clean_environment(extra)
