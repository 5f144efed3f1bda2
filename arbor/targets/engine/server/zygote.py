"""Holds the server's libraries in memory, and forks a guarded server for every order it gets.

Run as ``python -m arbor.targets.engine.server.zygote SOCKET``. It imports libraries and nothing of
the engine, runs no operator and has one thread, so that a fork of it is as good as a new process;
if it ever had another thread it would refuse. It serves one connection and ends with it.
"""

import importlib
import json
import os
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any

from arbor.targets.guard import guard

REFUSED = b"refused"
STARTED = b"started"
MAX_ORDER_BYTES = 1 << 16
NUM_DESCRIPTORS = 2

# What the server imports before its own modules; these may still be overlaid.
_LIBRARIES = ("yaml", "torch", "safetensors.torch", "aiohttp.web")
_CRASHED = 1


def main() -> None:
    """Take orders until the connection ends."""
    for name in _LIBRARIES:
        importlib.import_module(name)
    if _has_threads():
        raise SystemExit("a library has started a thread: forks of this process are not safe")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(sys.argv[1])
        listener.listen(1)
        connection, _ = listener.accept()
    with connection:
        while True:
            message, descriptors, _, _ = socket.recv_fds(
                connection, MAX_ORDER_BYTES, NUM_DESCRIPTORS
            )
            if not message:
                return
            _reap()
            connection.send(_take(json.loads(message), descriptors, connection))


def _take(order: dict[str, Any], descriptors: list[int], connection: socket.socket) -> bytes:
    """Fork a guard; the answer for the worker."""
    try:
        if _has_threads():
            return REFUSED
        if os.fork() == 0:
            _guard(order, descriptors, connection)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return STARTED


def _guard(order: dict[str, Any], descriptors: list[int], connection: socket.socket) -> None:
    """Be the guard of one server; never comes back."""
    code = _CRASHED
    try:
        connection.close()
        leash, report = descriptors
        os.dup2(leash, 0)
        os.close(leash)
        guard(
            lambda: _serve(order),
            owner=order["owner"],
            report=report,
            log_path=order["log_path"],
            log_limit_bytes=order["log_limit_bytes"],
            grace_s=order["grace_s"],
        )
        code = 0
    finally:
        os._exit(code)


def _serve(order: dict[str, Any]) -> int:
    """Be the server, in the state in which a new program would be; its exit code."""
    # as an exec would close them: the guard's log, pipes, and its line to the worker
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are all that is needed
        if int(name) > 2:
            with suppress(OSError):
                os.close(int(name))
    sys.stdout.write("forked from a prepared process\n")
    os.chdir(order["cwd"])
    sys.path[0] = order["cwd"]
    sys.argv[1:] = order["arguments"]
    try:
        from arbor.targets.engine.server.__main__ import main as serve  # noqa: PLC0415

        return serve()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else _CRASHED
    except BaseException:  # noqa: BLE001 - the log is where the worker looks for the reason
        traceback.print_exc()
        return _CRASHED
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _has_threads() -> bool:
    """Whether a fork could find a lock that another thread holds, and that stays held for ever."""
    return len(os.listdir("/proc/self/task")) > 1  # noqa: PTH208 - names are all that is needed


def _reap() -> None:
    """Forget guards that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
