"""Starts engine servers: as new programs, or as forks of a prepared process; on a free port."""

import os
import shutil
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess, clean_environment
from arbor.targets.engine.config import EngineTargetConfig
from arbor.targets.engine.model_cache import import_root
from arbor.targets.engine.prepared import PreparedProcess
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.server.errors import EXIT_PORT_BUSY, OverlayError
from arbor.targets.engine.server.overlay import FOLDER, changed_sources
from arbor.targets.launch import launch_guard
from arbor.targets.sandbox.isolation import isolation
from arbor.targets.sandbox.order import JailOrder, Limits, secret_files
from arbor.targets.serve_yaml import CONFIG_FILE

HOST = "127.0.0.1"
_PORT_TRIES = 3
_SERVER_LIMITS = Limits(cpu_s=None, memory_bytes=None, disk_bytes=8 << 30, num_files=65536)
"""A server is ended by whoever started it; its memory is the machine's to limit."""


def is_patched(worktree: Path) -> bool:
    """Return whether a worktree brings sources of its own."""
    try:
        return bool(changed_sources(worktree / FOLDER))
    except OverlayError:
        # the server says which file may not be replaced
        return True


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
        argv = (sys.executable, "-m", "arbor.targets.engine.server", *words)
        environment = self._environment()
        launch = launch_guard
        if is_patched(worktree):
            # what a patch brings runs with few rights, so it cannot be a fork of this process
            argv, own = self._jailed(argv, worktree, log_path)
            environment |= own
        elif is_quick and (prepared := self._prepare()).is_ready():
            launch = prepared.launch
        return ChildProcess(argv, environment, worktree, log_path, launch=launch)

    def _jailed(
        self, argv: Sequence[str], worktree: Path, log_path: Path
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the command line in a jail, and where it keeps what it builds.

        Caches are copies of its own: what it leaves there is for nobody else.
        """
        own = log_path.absolute().with_suffix(".cache")
        (own / "inductor").mkdir(parents=True, exist_ok=True)
        built = self._cache / "operators"
        if built.is_dir() and not (own / "operators").exists():
            shutil.copytree(built, own / "operators", dirs_exist_ok=True)
        (own / "operators").mkdir(exist_ok=True)
        order = JailOrder(
            isolation=isolation(),
            folder=worktree.resolve(),
            writable=(own,),
            hidden=secret_files(),
            network="host",
            has_own_processes=False,
            limits=_SERVER_LIMITS,
        )
        environment = {
            "ARBOR_ENGINE_CACHE": str(own / "operators"),
            "TORCHINDUCTOR_CACHE_DIR": str(own / "inductor"),
            "TMPDIR": str(own),
        }
        return order.argv(argv), environment

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
