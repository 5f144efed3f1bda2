"""One running engine server: its child process and its HTTP interface, with limits everywhere."""

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from arbor.events.types import Scalar
from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess
from arbor.targets.hardware import usable_cores

_UNLESS_AGREED = {
    "affinity": "none",
    "allocator": "system",
    "denormals": "kept",
    "malloc": "default",
}
"""Dispatch switches that the system may refuse, and what holds then."""
_DEATH_NOTICE_S = 2.0
"""How long a failed request waits to learn whether the server has died of it."""


class EngineServer:
    """Implements ``Server``; every failure becomes a ``ServerFailedError``.

    Attributes:
        child: the server's process.
        port: where it listens.
    """

    def __init__(self, child: ChildProcess, host: str, port: int, request_limit_s: float) -> None:
        self.child = child
        self.host = host
        self.port = port
        self._request_limit_s = request_limit_s

    def is_ready(self) -> bool:
        """Return whether this very server, and no other on its port, is healthy."""
        try:
            self._exchange("GET", "/health", None, 1.0)
            state = self._exchange("GET", "/state", None, 5.0)
        except (OSError, http.client.HTTPException, ValueError):
            return False
        return bool(state["process"]["pid"] == self.child.pid)

    def resolved_config(self) -> dict[str, Scalar]:
        """Return the switches in effect, corrected by what the process shows.

        Raises:
            ServerFailedError: the server does not answer.
        """
        state = self.state("start")
        config: dict[str, Scalar] = {
            f"{section}.{name}": value
            for section, switches in state["settings"].items()
            for name, value in switches.items()
        }
        counters, process = state["counters"], state["process"]
        config["dispatch.threads"] = process["threads"]
        # set up once at the start: the counter is the server's proof that the system agreed
        for name, default in _UNLESS_AGREED.items():
            if f"{name}.{config[f'dispatch.{name}']}" not in counters:
                config[f"dispatch.{name}"] = default
        # sources that the workspace puts in front of the engine's own
        config |= {f"overlay.{name}": digest for name, digest in state["overlay"].items()}
        return config

    def state(self, phase: str) -> dict[str, Any]:
        """Return the server's switches, counters and statistics.

        Raises:
            ServerFailedError: the server does not answer.
        """
        state: dict[str, Any] = self.ask(phase, "GET", "/state")
        return state

    def rss_bytes(self) -> int | None:
        """Return the resident memory of the process; None once it has ended."""
        with suppress(psutil.Error):
            return int(psutil.Process(self.child.pid).memory_info().rss)
        return None

    def ask(self, phase: str, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON answer to a request.

        Raises:
            ServerFailedError: there was none within the limit, or an error.
        """
        try:
            return self._exchange(method, path, body, self._request_limit_s)
        except TimeoutError as error:
            limit = f"{self._request_limit_s:g} s"
            message = f"{path} was not answered within {limit}"
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
                raise ServerFailedError(
                    phase,
                    message,
                    log_tail=self.child.log_tail(),
                    log_excerpt=self.child.log_excerpt(),
                )

    def _exchange(self, method: str, path: str, body: Any, limit_s: float) -> Any:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=limit_s)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            text = response.read()
            if response.status != http.HTTPStatus.OK:
                raise ValueError(f"HTTP {response.status}: {text[:200].decode(errors='replace')}")
            return json.loads(text)
        finally:
            connection.close()


class ProcessorClock:
    """Processor time of the server, of this process and of everything else in a window.

    Only the cores that this process, and so its server, may use are looked at.
    """

    def __init__(self, server: EngineServer) -> None:
        self._server = server
        self._cores = usable_cores()
        self._started = self._now()

    def _now(self) -> tuple[float, float, float, float]:
        times = psutil.cpu_times(percpu=True)
        busy_s = sum(
            t.user + t.nice + t.system + t.irq + t.softirq + t.steal
            for core, t in enumerate(times)
            if core in self._cores
        )
        return time.perf_counter(), busy_s, self._server.child.cpu_seconds(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Return the server's processor seconds and the foreign share of the cores."""
        pairs = zip(self._started, self._now(), strict=True)
        wall_s, busy_s, server_s, own_s = (max(now - then, 0.0) for then, now in pairs)
        capacity_s = max(wall_s, 1e-9) * len(self._cores)
        foreign = (busy_s - server_s - own_s) / capacity_s
        return server_s, min(max(foreign, 0.0), 1.0)
