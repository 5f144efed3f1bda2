"""The keeper behind a socket instead of Ray: same class and proxy, in a process to be killed."""

import os
import secrets
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from arbor.actors.keeper import Keeper
from arbor.events.errors import FencedError, LogError

CAMPAIGN = "chaos"
CURRENT = "current"
"""Name in the folder of sockets that leads to the newest keeper."""
PATIENCE_S = 0.2
"""An answer may take this long before somebody asks who the keeper is now."""
LIMIT_S = 60.0


def serve(directory: str, sockets: str) -> None:
    """Open the log and answer until this writer is fenced."""
    try:
        keeper = Keeper(directory, CAMPAIGN, compact_after=24, grace_s=0.2)
    except FencedError:
        # Paused while it opened; its successor serves.
        return
    path = Path(sockets) / secrets.token_hex(6)
    listener = Listener(str(path), family="AF_UNIX", backlog=64)
    link = Path(sockets) / f".{path.name}"
    link.symlink_to(path)
    link.replace(Path(sockets) / CURRENT)
    while True:
        threading.Thread(target=_answer, args=(keeper, listener.accept()), daemon=True).start()


def _answer(keeper: Keeper, connection: Connection) -> None:
    with suppress(EOFError, OSError):
        while True:
            method, arguments = connection.recv()
            answer = getattr(keeper, method)(*arguments)
            if isinstance(answer, FencedError) and "this writer" in str(answer):
                # As one whose node comes back: nobody may take its word for an actor's.
                os._exit(1)
            connection.send(answer)


class CallService:
    """Calls the newest keeper, again and again while there is none, as Ray's retries do."""

    def __init__(self, sockets: Path) -> None:
        self._current = sockets / CURRENT
        self._path: Path | None = None
        self._connection: Connection | None = None

    def __call__(self, method: str, *args: Any) -> Any:
        """Return the value of a keeper's method.

        Raises:
            LogError: there was no keeper for a long time.
        """
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            with suppress(EOFError, OSError):
                connection = self._connected()
                connection.send((method, args))
                while not connection.poll(PATIENCE_S):
                    if self._current.readlink() != self._path:
                        break
                else:
                    return connection.recv()
            self._drop()
            time.sleep(0.01)
        raise LogError(f"no keeper in {LIMIT_S:.0f} s")

    def _connected(self) -> Connection:
        if self._connection is None:
            self._path = self._current.readlink()
            self._connection = Client(str(self._path), family="AF_UNIX")
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
