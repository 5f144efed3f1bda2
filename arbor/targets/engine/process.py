"""One running engine server: what it says of itself."""

import http.client
import json
from typing import Any

from arbor.events.types import Scalar
from arbor.targets.http_server import HttpServer

_UNLESS_AGREED = {
    "affinity": "none",
    "allocator": "system",
    "denormals": "kept",
    "malloc": "default",
}
"""Dispatch switches that the system may refuse, and what holds then."""


class EngineServer(HttpServer):
    """Implements ``Server``; every failure becomes a ``ServerFailedError``."""

    def is_ready(self) -> bool:
        """Return whether this very server, and no other on its port, is healthy."""
        try:
            self.exchange("GET", "/health", None, 1.0)
            state = json.loads(self.exchange("GET", "/state", None, 5.0))
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
