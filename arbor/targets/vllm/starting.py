"""Starts ``vllm serve`` for a worktree: checked before, on a free port, and gone afterwards."""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from arbor.events.errors import InvalidInputError
from arbor.events.types import Scalar
from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess, clean_environment
from arbor.targets.serve_yaml import CONFIG_FILE, load_config
from arbor.targets.vllm.arguments import MODEL_KEY, BadOptionError, command_line, environment
from arbor.targets.vllm.config import DEFAULT_ENVIRONMENT, VllmTargetConfig
from arbor.targets.vllm.device_ledger import DeviceLedger
from arbor.targets.vllm.device_memory import DeviceMemory
from arbor.targets.vllm.installation import Installation
from arbor.targets.vllm.server import VllmServer

HOST = "127.0.0.1"
_PORT_TRIES = 3
_PORT_BUSY = "ddress already in use"
_GRACE_S = 20.0
"""vLLM ends its engine and workers one after the other."""


class VllmStarter:
    """Knows a server's command line, its environment and what has to be free for it.

    Args:
        config: limits.
        installation: the vLLM that is started.
        memory: watches the accelerators.
        choose_port: returns a port that is free on a host.
    """

    def __init__(
        self,
        config: VllmTargetConfig,
        installation: Installation,
        memory: DeviceMemory,
        choose_port: Callable[[str], int],
    ) -> None:
        self._config = config
        self._installation = installation
        self._memory = memory
        self._choose_port = choose_port

    @contextmanager
    def start(
        self, worktree: Path, log_path: Path, more_words: tuple[str, ...] = ()
    ) -> Iterator[VllmServer]:
        """Start a server and wait until it is ready; end it on exit.

        Args:
            worktree: holds ``serve.yaml``.
            log_path: file of the server's output.
            more_words: further arguments.

        Raises:
            ServerFailedError: the configuration is refused, a device is busy, or vLLM ended or
                was not ready in time.
        """
        config = read_worktree(worktree, log_path)
        try:
            words = command_line(config, self._installation.options, self._installation.version)
            env = self.environment(config)
        except (BadOptionError, InvalidInputError) as error:
            raise _refused(log_path, str(error)) from error
        argv = (str(config.get(MODEL_KEY, self._config.model)), *words, *more_words)
        order = _Order(argv, env, config, worktree, log_path)
        ledger = DeviceLedger(log_path.parent / "devices")
        with ExitStack() as stack:
            with self._memory.turn(ledger):
                server = self._started(order, ledger, stack)
            yield server

    def _started(self, order: "_Order", ledger: DeviceLedger, stack: ExitStack) -> VllmServer:
        """Return a server that is ready; what ends it goes onto the stack."""
        before = self._memory.check_free(ledger)
        num_tries = 0
        while True:
            num_tries += 1
            with ExitStack() as attempt:
                server = self._server(order)
                attempt.callback(self._memory.ended, ledger, server.name)
                attempt.enter_context(server.child)
                try:
                    server.child.wait_ready(server.is_ready, self._config.start_limit_s)
                except ServerFailedError as error:
                    if num_tries < _PORT_TRIES and _is_port_busy(error):
                        continue
                    raise
                self._memory.started(ledger, server.name, server.child.pid, before)
                server.read_log()
                stack.push(attempt.pop_all())
                return server

    def environment(self, config: Mapping[str, Scalar]) -> dict[str, str]:
        """Return the environment of a server with a configuration.

        Raises:
            InvalidInputError: a variable looks like a secret.
        """
        program = Path(self._installation.command[0])
        own = {
            "PYTHONUNBUFFERED": "1",
            # vLLM and the libraries below it look for programs of their environment, such as ninja
            "PATH": os.pathsep.join((str(program.parent), os.environ.get("PATH", os.defpath))),
        }
        return clean_environment({**DEFAULT_ENVIRONMENT, **own, **environment(config)})

    def _server(self, order: "_Order") -> VllmServer:
        port = self._choose_port(HOST)
        name = f"arbor-{uuid.uuid4().hex[:12]}"
        own = ("--host", HOST, "--port", str(port), "--served-model-name", name)
        child = ChildProcess(
            [*self._installation.command, "serve", *order.words, *own],
            order.env,
            order.worktree,
            order.log_path,
            grace_s=_GRACE_S,
            log_limit_bytes=self._config.log_limit_bytes,
        )
        return VllmServer(
            child,
            HOST,
            port,
            self._config.request_limit_s,
            name=name,
            worktree=order.worktree,
            config=order.config,
            installation=self._installation,
        )


@dataclass(frozen=True, slots=True)
class _Order:
    """What is started: model and options, environment, configuration, folder and log."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    config: Mapping[str, Scalar]
    worktree: Path
    log_path: Path


def read_worktree(worktree: Path, log_path: Path) -> dict[str, Scalar]:
    """Return the configuration of a worktree.

    Raises:
        ServerFailedError: there is none, or it cannot be read.
    """
    try:
        return load_config((worktree / CONFIG_FILE).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, InvalidInputError) as error:
        raise _refused(log_path, f"{CONFIG_FILE}: {error}") from error


def _is_port_busy(error: ServerFailedError) -> bool:
    return any(_PORT_BUSY in line for line in error.log_tail)


def _refused(log_path: Path, message: str) -> ServerFailedError:
    """Return the error of a start that was refused, with a log as its evidence."""
    line = f"not started: {message}"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    log_path.write_text(line + "\n", encoding="utf-8")
    return ServerFailedError("start", message, log_tail=(line,))
