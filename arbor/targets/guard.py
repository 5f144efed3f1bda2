"""Stands between a worker and its server, so that no server outlives its worker.

Run as ``python -I -S guard.py OWNER REPORT LOG LOG_LIMIT GRACE -- ARGV...``, with the standard
library only. It forks once, so that it is no direct child of the worker (Ray kills those first and
leaves their children), stays in the worker's process group (a raylet that ends kills the group),
adopts every orphan below it, and ends the whole tree when the worker goes, when its standard input
ends, or when the server does. It copies the server's output to the log and keeps that within its
limit.
"""

import ctypes
import errno
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CHUNK_BYTES = 65536
_KILL_LIMIT_S = 10.0
"""How long killed processes may take to vanish; one in an uninterruptible call may never."""
_NOT_RUN = 127


class _Log:
    """A file of at most half the limit, and the one before it beside it as ``.1``."""

    def __init__(self, path: str, limit_bytes: int) -> None:
        self._path = path
        self._half_bytes = limit_bytes // 2
        self._file = self._open()
        self._num_bytes = os.fstat(self._file).st_size

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, chunk: bytes) -> None:
        if self._num_bytes + len(chunk) > self._half_bytes:
            os.close(self._file)
            # Path would cost an import
            os.replace(self._path, self._path + ".1")  # noqa: PTH105
            self._file = self._open()
            self._num_bytes = 0
        # a full disk must not end the server
        with suppress(OSError):
            self._num_bytes += os.write(self._file, chunk)


class _Guard:
    """The server, its descendants, and what to tell the worker about them."""

    def __init__(self, become: Callable[[], int], log: _Log, report: int, grace_s: float) -> None:
        self._log = log
        self._report = report
        self._grace_s = grace_s
        self._output, output = os.pipe()
        self._is_output_open = True
        self.status: int | None = None
        self._server = os.fork()
        if self._server == 0:
            _run_server(become, output)
        os.close(output)
        os.set_blocking(self._output, False)
        self._tell(f"started {os.getpid()} {self._server}")

    def run(self, owner: int | None) -> None:
        """Copy output until the server ends, the owner does, or standard input does."""
        wakeup, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        # a handler is needed for the wake-up to be written
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: None)
        with selectors.DefaultSelector() as selector:
            for source in (0, wakeup, self._output, *([] if owner is None else [owner])):
                selector.register(source, selectors.EVENT_READ)
            self._reap()
            while self.status is None:
                for key, _ in selector.select():
                    if key.fd == owner or (key.fd == 0 and not os.read(0, 1)):
                        return
                    if key.fd == wakeup and signal.SIGTERM in os.read(wakeup, 4096):
                        return
                    if key.fd == self._output:
                        self._copy()
                        if not self._is_output_open:
                            selector.unregister(self._output)
                self._reap()

    def end(self) -> None:
        """End what is left: politely first, then not."""
        self._signal_until_gone(signal.SIGTERM, self._grace_s)
        self._signal_until_gone(signal.SIGKILL, _KILL_LIMIT_S)

    def _signal_until_gone(self, number: signal.Signals, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        told: set[int] = set()
        while pids := _descendants(os.getpid()):
            for pid in pids:
                # a process that forks while it is being killed has new children
                if number == signal.SIGKILL or pid not in told:
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
                    told.add(pid)
            self._copy()
            self._reap()
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        self._copy()
        self._reap()

    def _copy(self) -> None:
        """Copy what the output holds now, within a bound: it may be written faster than read."""
        for _ in range(64):
            if not self._is_output_open:
                return
            try:
                chunk = os.read(self._output, _CHUNK_BYTES)
            except BlockingIOError:
                return
            self._is_output_open = bool(chunk)
            self._log.write(chunk)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._server:
                self.status = status
                # the worker reads the log as soon as it knows
                self._copy()
                if os.WIFSIGNALED(status):
                    self._tell(f"signal {os.WTERMSIG(status)}")
                else:
                    self._tell(f"exit {os.WEXITSTATUS(status)}")

    def _tell(self, line: str) -> None:
        with suppress(BrokenPipeError):
            os.write(self._report, f"{line}\n".encode())


def _run_server(become: Callable[[], int], output: int) -> NoReturn:
    """Turn this fork into the server."""
    code = _NOT_RUN
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target, inheritable=True)
        code = become()
    finally:
        os._exit(code)


def _execute(argv: list[str]) -> int:
    """Replace this process by a program; the exit code if there is none."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - there is no shell by intention
    except OSError as error:
        os.write(2, f"cannot run {argv[0]}: {os.strerror(error.errno or 0)}\n".encode())
    return _NOT_RUN


def _prctl(option: int, value: int) -> None:
    # Linux only; elsewhere orphans of the server are not adopted
    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - Path would cost an import
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    stack = [root]
    while stack:
        below = children.get(stack.pop(), [])
        found += below
        stack += below
    return found


def _watch(pid: int) -> int | None:
    """Return a descriptor that becomes readable when a process ends."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError) as error:
        if getattr(error, "errno", None) == errno.ESRCH:
            raise SystemExit(0) from error
        # an old kernel: the end of standard input has to do
        return None


def guard(
    become: Callable[[], int],
    *,
    owner: int,
    report: int,
    log_path: str,
    log_limit_bytes: int,
    grace_s: float,
) -> None:
    """Guard one server until it or its owner ends.

    Args:
        become: turns a fork of this process into the server; its exit code, if it comes back.
        owner: process id of the worker.
        report: descriptor to tell the worker on.
        log_path: file of the server's output.
        log_limit_bytes: limit of the log.
        grace_s: how long a server may take to end by itself.
    """
    # a terminal signals the whole group; the worker decides what that means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    os.set_inheritable(report, False)
    watched = _watch(owner)
    guarded = _Guard(become, _Log(log_path, log_limit_bytes), report, grace_s)
    guarded.run(watched)
    guarded.end()


def main() -> None:
    """Guard the program of the command line."""
    owner, report, log_path, limit_bytes, grace_s, _, *argv = sys.argv[1:]
    if os.fork():
        os._exit(0)
    guard(
        lambda: _execute(argv),
        owner=int(owner),
        report=int(report),
        log_path=log_path,
        log_limit_bytes=int(limit_bytes),
        grace_s=float(grace_s),
    )


if __name__ == "__main__":
    main()
