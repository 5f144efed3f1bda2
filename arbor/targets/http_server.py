"""A server program with an HTTP interface: asked within limits, and blamed when it fails."""

import http.client
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess

_DEATH_NOTICE_S = 2.0
"""How long a failed request waits to learn whether the server has died of it."""


class HttpServer:
    """Every failure becomes a ``ServerFailedError``.

    Attributes:
        child: the server's process.
        host: where it listens.
        port: where it listens.
    """

    def __init__(self, child: ChildProcess, host: str, port: int, request_limit_s: float) -> None:
        self.child = child
        self.host = host
        self.port = port
        self._request_limit_s = request_limit_s

    def ask(self, phase: str, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON answer to a request; None when the answer is empty.

        Raises:
            ServerFailedError: there was none within the limit, or an error.
        """
        text = self.ask_text(phase, method, path, body)
        try:
            return json.loads(text) if text.strip() else None
        except ValueError as error:
            raise self.failure(phase, f"{path} failed: {error}") from error

    def ask_text(
        self, phase: str, method: str, path: str, body: Any = None, limit_s: float | None = None
    ) -> str:
        """Return the answer to a request.

        Args:
            phase: phase that a failure belongs to.
            method: HTTP method.
            path: path on the server.
            body: sent as JSON; None sends nothing.
            limit_s: limit of this request; the server's own by default.

        Raises:
            ServerFailedError: there was none within the limit, or an error.
        """
        limit_s = self._request_limit_s if limit_s is None else limit_s
        try:
            return self.exchange(method, path, body, limit_s)
        except TimeoutError as error:
            message = f"{path} was not answered within {limit_s:g} s"
            raise self.child.failure(phase, message) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self.failure(phase, f"{path} failed: {error}") from error

    def failure(self, phase: str, message: str) -> ServerFailedError:
        """Return an error with the server's end and log, if it ended."""
        with suppress(ServerFailedError):
            # a dying server drops its connections before it is gone
            self.child.wait_ready(lambda: False, _DEATH_NOTICE_S)
        return self.child.failure(phase, message)

    @contextmanager
    def time_limit(self, phase: str, limit_s: float) -> Iterator[None]:
        """Kill the server when what runs inside takes too long.

        Raises:
            ServerFailedError: it did.
        """
        is_late = threading.Event()

        def kill() -> None:
            is_late.set()
            with suppress(ProcessLookupError):
                os.kill(self.child.pid, signal.SIGKILL)

        timer = threading.Timer(limit_s, kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            if is_late.is_set():
                message = f"the load did not end within {limit_s:g} s"
                raise ServerFailedError(phase, message, log_tail=self.child.log_tail())

    def rss_bytes(self) -> int | None:
        """Return the resident memory of the server's processes; None once they have ended."""
        sizes = []
        for pid in self.child.pids():
            with suppress(psutil.Error):
                sizes.append(int(psutil.Process(pid).memory_info().rss))
        return sum(sizes) if sizes else None

    def exchange(self, method: str, path: str, body: Any, limit_s: float) -> str:
        """Send one request and return the answer's text.

        Raises:
            OSError: no connection, or no answer in time.
            HTTPException: what answers speaks no HTTP.
            ValueError: the answer is an HTTP error.
        """
        connection = http.client.HTTPConnection(self.host, self.port, timeout=limit_s)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, headers)
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
            if response.status != http.HTTPStatus.OK:
                raise ValueError(f"HTTP {response.status}: {' '.join(text.split())[:200]}")
            return text
        finally:
            connection.close()
