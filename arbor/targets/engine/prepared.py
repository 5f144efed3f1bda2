"""A prepared process with the libraries in memory, from which servers are forked."""

import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess
from arbor.targets.engine.server.zygote import STARTED
from arbor.targets.launch import Order

_MODULE = "arbor.targets.engine.server.zygote"
_START_LIMIT_S = 60.0
_ANSWER_LIMIT_S = 10.0


class PreparedProcess:
    """Implements the launch of a ``ChildProcess`` by a fork; started when first asked.

    A forked server has a guard of its own, and all of them stand below the guard of the prepared
    process, so none outlives the worker. Not for use by several threads at once.

    Args:
        env: environment of the prepared process, and so of every server that is forked from it.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._is_broken = False
        self._child: ChildProcess | None = None
        self._connection: socket.socket | None = None

    def is_ready(self) -> bool:
        """Return whether a server can be forked; starts what is needed for it.

        A prepared process that cannot be started is not tried again.
        """
        if self._child is not None and self._child.poll() is not None:
            self.close()
        if self._connection is None and not self._is_broken:
            try:
                self._connect()
            except (OSError, ServerFailedError):
                self._is_broken = True
        return not self._is_broken

    def launch(self, order: Order) -> None:
        """Fork a guard and its server.

        Raises:
            OSError: the prepared process is gone, not started, or refused.
        """
        connection = self._connection
        if connection is None:
            raise OSError("there is no prepared process")
        words = list(order.argv)
        told = {
            "owner": os.getpid(),
            # what follows the interpreter, -m and the module
            "arguments": words[3:],
            "cwd": str(order.cwd.resolve()),
            "log_path": str(order.log_path),
            "log_limit_bytes": order.log_limit_bytes,
            "grace_s": order.grace_s,
        }
        socket.send_fds(connection, [json.dumps(told).encode()], [order.leash, order.report])
        if connection.recv(64) != STARTED:
            raise OSError("the prepared process refused to fork")

    def close(self) -> None:
        """End the prepared process, and with it all servers that were forked from it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._child is not None:
            self._child.terminate()
            self._child = None

    def _connect(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="arbor-"))
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            path = folder / "orders"
            argv = [sys.executable, "-m", _MODULE, str(path)]
            child = ChildProcess(argv, self._env, folder, folder / "log")
            child.start()
            self._child = child
            child.wait_ready(lambda: _connects(connection, path), _START_LIMIT_S)
        except (OSError, ServerFailedError):
            connection.close()
            self.close()
            raise
        finally:
            # nobody else shall connect
            shutil.rmtree(folder, ignore_errors=True)
        connection.settimeout(_ANSWER_LIMIT_S)
        self._connection = connection


def _connects(connection: socket.socket, path: Path) -> bool:
    with suppress(FileNotFoundError, ConnectionRefusedError):
        connection.connect(str(path))
        return True
    return False
