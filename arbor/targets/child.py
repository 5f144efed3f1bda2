"""A server as a guarded child program: ready or failed, measured, and ended as a whole tree."""

import os
import select
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import psutil

from arbor.events.causes import LogLine
from arbor.events.errors import InvalidInputError
from arbor.targets.base import ServerFailedError
from arbor.targets.devices import server_mask
from arbor.targets.launch import GUARD_START_LIMIT_S, Order, launch_guard
from arbor.targets.leftovers import MARK
from arbor.targets.log_excerpt import excerpt
from arbor.targets.secrets import is_secret_name, scrub

LOG_LIMIT_BYTES = 64 * 1024 * 1024
LOG_TAIL_LINES = 40
_KILL_LIMIT_S = 20.0
_TAIL_BYTES = 64 * 1024

_INHERITED = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
)


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a server: a short allow-list and what is given explicitly.

    Raises:
        InvalidInputError: a given name looks like a secret's.
    """
    for name in extra:
        if is_secret_name(name):
            raise InvalidInputError(f"environment variable {name} looks like a secret: not passed")
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return inherited | server_mask(os.environ) | dict(extra)


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that was free a moment ago; whoever finds it taken asks again."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        listener.bind((host, 0))
        port: int = listener.getsockname()[1]
        return port


class ChildExit(NamedTuple):
    """How a server ended."""

    exit_code: int | None
    signal: int | None

    def __str__(self) -> str:
        if self.signal is not None:
            return f"ended by signal {self.signal}"
        if self.exit_code is not None:
            return f"ended with exit code {self.exit_code}"
        return "ended together with its guard"


class ChildProcess:
    """A server program below a guard; a context manager that starts and ends it.

    When the process that made it dies, even by SIGKILL, the server and all that it started die
    too. Not for use by several threads at once.

    Attributes:
        log_path: file of the server's output; older output stands in ``<log_path>.1``.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        log_path: Path,
        *,
        grace_s: float = 5.0,
        log_limit_bytes: int = LOG_LIMIT_BYTES,
        launch: Callable[[Order], None] = launch_guard,
    ) -> None:
        self.log_path = log_path
        self._argv = list(argv)
        self._env = dict(env)
        self._cwd = cwd
        self._grace_s = grace_s
        self._log_limit_bytes = log_limit_bytes
        self._launch = launch
        self._leash = -1
        self._report = -1
        self._unread = b""
        self._guard_pid = 0
        self._pid = 0
        self._exit: ChildExit | None = None
        self._is_over = True

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.terminate()

    def start(self) -> None:
        """Start the guard and, below it, the program.

        Raises:
            ServerFailedError: the guard did not start.
        """
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        for path in self._log_files():
            path.unlink(missing_ok=True)
        guard_input, self._leash = os.pipe()
        self._report, report = os.pipe()
        os.set_blocking(self._report, False)
        order = Order(
            argv=tuple(self._argv),
            env=self._env | {MARK: str(self.log_path.resolve())},
            cwd=self._cwd,
            log_path=self.log_path.absolute(),
            log_limit_bytes=self._log_limit_bytes,
            grace_s=self._grace_s,
            leash=guard_input,
            report=report,
        )
        try:
            self._launch(order)
        except (OSError, subprocess.TimeoutExpired) as error:
            os.close(report)
            self._close()
            raise ServerFailedError("start", f"the guard did not start: {error}") from error
        finally:
            os.close(guard_input)
        os.close(report)
        self._is_over = False
        self._listen(GUARD_START_LIMIT_S, until=lambda: self._pid != 0)
        if self._pid == 0:
            self.terminate()
            raise ServerFailedError("start", "the guard did not report a process")

    @property
    def pid(self) -> int:
        """Process id of the server itself."""
        return self._pid

    def poll(self) -> ChildExit | None:
        """Return how the server ended, or None while it runs."""
        self._listen(0.0)
        if self._exit is None and self._is_over:
            self._exit = ChildExit(None, None)
        return self._exit

    def wait(self, timeout_s: float) -> ChildExit | None:
        """Return how the program ended, or None when it still runs after a while."""
        self._listen(timeout_s, until=lambda: self._exit is not None)
        return self.poll()

    def check(self, phase: str) -> None:
        """Do nothing while the server runs.

        Raises:
            ServerFailedError: it has ended.
        """
        if self.poll() is not None:
            raise self.failure(phase, "the server " + str(self._exit))

    def failure(self, phase: str, message: str) -> ServerFailedError:
        """Return an error that carries the server's end, if it has ended, and its log's tail."""
        code, number = self.poll() or (None, None)
        return ServerFailedError(phase, message, code, number, self.log_tail(), self.log_excerpt())

    def wait_ready(self, probe: Callable[[], bool], timeout_s: float) -> None:
        """Ask ``probe`` until it says true.

        Raises:
            ServerFailedError: the server ended, or was not ready in time.
        """
        deadline = time.monotonic() + timeout_s
        pause_s = 0.02
        while not probe():
            self.check("start")
            if time.monotonic() > deadline:
                raise self.failure("start", f"the server was not ready within {timeout_s:g} s")
            # wakes at once when the server ends
            self._listen(pause_s, until=lambda: self._exit is not None)
            pause_s = min(pause_s * 1.3, 0.1)

    def terminate(self) -> None:
        """End the server and everything below it: SIGTERM, then SIGKILL; idempotent."""
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1
        # end of input: the guard ends the tree and then itself, which closes the report
        self._listen(self._grace_s + _KILL_LIMIT_S, until=lambda: self._is_over)
        if not self._is_over:
            for process in self._tree():
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            self._is_over = True
        self._close()

    def pids(self) -> list[int]:
        """Return the server's process and all below it, without the guard."""
        return [process.pid for process in self._tree() if process.pid != self._guard_pid]

    def cpu_seconds(self) -> float:
        """Return the processor time of the tree so far, with that of its ended processes."""
        total = 0.0
        for process in self._tree():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
                total += times.children_user + times.children_system
        return total

    def log_tail(self, num_lines: int = LOG_TAIL_LINES) -> tuple[str, ...]:
        """Return the last lines of the server's output, without secrets: they become evidence."""
        text = b""
        for path in self._log_files():
            if len(text) < _TAIL_BYTES and path.exists():
                with path.open("rb") as file:
                    file.seek(max(path.stat().st_size - _TAIL_BYTES, 0))
                    text = file.read() + text
        lines = text[-_TAIL_BYTES:].decode(errors="replace").splitlines()
        return scrub(lines[-num_lines:])

    def log_excerpt(self) -> tuple[LogLine, ...]:
        """Return the telling lines of all of the server's output that is still there."""
        found = excerpt(tuple(reversed(self._log_files())))
        texts = scrub(line.text for line in found)
        return tuple(
            LogLine(number=line.number, text=text) for line, text in zip(found, texts, strict=True)
        )

    def _log_files(self) -> tuple[Path, Path]:
        return self.log_path, self.log_path.with_name(self.log_path.name + ".1")

    def _tree(self) -> list[psutil.Process]:
        if self._is_over:
            return []
        try:
            guard = psutil.Process(self._guard_pid)
            return [guard, *guard.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _listen(self, limit_s: float, until: Callable[[], bool] = lambda: False) -> None:
        """Read the guard's report until a condition holds, the limit passes, or it ends."""
        if self._is_over:
            return
        deadline = time.monotonic() + limit_s
        poller = select.poll()
        poller.register(self._report, select.POLLIN)
        while not self._is_over and not until():
            left_ms = max(deadline - time.monotonic(), 0.0) * 1000.0
            if not poller.poll(left_ms):
                return
            chunk = os.read(self._report, 4096)
            self._is_over = not chunk
            *lines, self._unread = (self._unread + chunk).split(b"\n")
            for line in lines:
                self._take(line.decode().split())

    def _take(self, words: list[str]) -> None:
        match words:
            case ["started", guard_pid, pid]:
                self._guard_pid, self._pid = int(guard_pid), int(pid)
            case ["exit", code]:
                self._exit = ChildExit(int(code), None)
            case ["signal", number]:
                self._exit = ChildExit(None, int(number))

    def _close(self) -> None:
        for descriptor in (self._leash, self._report):
            if descriptor >= 0:
                os.close(descriptor)
        self._leash = self._report = -1
