"""One running ``vllm serve``: whether it is ours and ready, and what it says of itself."""

import http.client
import json
from collections.abc import Mapping
from pathlib import Path

from arbor.events.types import Scalar
from arbor.targets.child import ChildProcess
from arbor.targets.http_server import HttpServer
from arbor.targets.prometheus import read_counters
from arbor.targets.vllm.catalog import load_catalog
from arbor.targets.vllm.installation import Installation
from arbor.targets.vllm.log_proof import log_proofs
from arbor.targets.vllm.start_log import StartLog, read_start_log

_READY_S = 5.0


class VllmServer(HttpServer):
    """Implements ``Server``; every failure becomes a ``ServerFailedError``.

    Args:
        child: the server's process.
        host: where it listens.
        port: where it listens.
        request_limit_s: limit of a request.
        name: under which it serves the model; no other server has it.
        worktree: what it was started from.
        config: of ``serve.yaml``.
        installation: the vLLM that it is.

    Attributes:
        name: as above.
        worktree: as above.
        config: as above.
        log: what its log said up to the last ``read_log``.
    """

    def __init__(
        self,
        child: ChildProcess,
        host: str,
        port: int,
        request_limit_s: float,
        *,
        name: str,
        worktree: Path,
        config: Mapping[str, Scalar],
        installation: Installation,
    ) -> None:
        super().__init__(child, host, port, request_limit_s)
        self.name = name
        self.worktree = worktree
        self.config = dict(config)
        self.log = StartLog(())
        self._installation = installation

    def is_ready(self) -> bool:
        """Return whether this very server, and no other on its port, is healthy."""
        try:
            self.exchange("GET", "/health", None, _READY_S)
            models = json.loads(self.exchange("GET", "/v1/models", None, _READY_S))
            return any(each["id"] == self.name for each in models["data"])
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            return False

    def read_log(self) -> None:
        """Read the log up to now, unless its beginning was given up to keep its limit."""
        log = read_start_log(self.child.log_path)
        # the last line may have been read in part
        num_known = max(len(self.log.lines) - 1, 0)
        if log.lines[:num_known] == self.log.lines[:num_known]:
            self.log = log

    def version(self, phase: str) -> str:
        """Return the release that the server names.

        Raises:
            ServerFailedError: the server does not answer.
        """
        told = self.ask(phase, "GET", "/version")
        return str(told.get("version", "")) if isinstance(told, dict) else ""

    def tokens(self, text: str) -> list[int]:
        """Return a text in the model's tokens.

        Raises:
            ServerFailedError: the server does not answer, or not with tokens.
        """
        body = {"model": self.name, "prompt": text, "add_special_tokens": False}
        told = self.ask("start", "POST", "/tokenize", body)
        try:
            return [int(token) for token in told["tokens"]]
        except (KeyError, TypeError, ValueError) as error:
            raise self.failure("start", f"/tokenize gave no tokens: {error}") from error

    def max_model_len(self, phase: str) -> int | None:
        """Return the longest sequence that the server takes; None when it does not tell.

        Raises:
            ServerFailedError: the server does not answer.
        """
        models = self.ask(phase, "GET", "/v1/models")
        try:
            length = models["data"][0]["max_model_len"]
        except (KeyError, IndexError, TypeError):
            return None
        return length if isinstance(length, int) else None

    def resolved_config(self) -> dict[str, Scalar]:
        """Return the configuration in effect, what the log proves, and sizes that it tells.

        A variable in vLLM's name that this vLLM does not read is not in effect.

        Raises:
            ServerFailedError: the server does not answer.
        """
        facts: dict[str, Scalar] = {"vllm.version": self.version("start")}
        facts |= {f"vllm.{name}": value for name, value in self.log.facts.items()}
        known = self._installation.variables
        resolved = {
            key: value
            for key, value in self.log.resolved(self.config).items()
            if known is None
            or not key.startswith("env.VLLM_")
            or key.removeprefix("env.") in known
        }
        proofs = log_proofs(load_catalog().entries, self.config, self.log.lines)
        return {**resolved, **facts, **proofs}

    def counters(self, phase: str) -> dict[str, float]:
        """Return the server's counters by name.

        Raises:
            ServerFailedError: the server does not answer.
        """
        return read_counters(self.ask_text(phase, "GET", "/metrics"))
