"""An engine without a process or HTTP, whose attention a test may break."""

import threading
from collections.abc import Callable
from typing import Any

from torch import Tensor

from arbor.events.types import Scalar
from arbor.targets.engine.server.batch import Batch
from arbor.targets.engine.server.engine import Engine
from arbor.targets.engine.server.layer_operators import LayerOperators
from arbor.targets.engine.server.requests import parse_completion, parse_score
from arbor.targets.engine.server.scoring import score
from arbor.targets.engine.server.sequence import Sequence

Fault = Callable[[Batch], Tensor]
"""Gives the rows of a batch, as booleans, whose attention comes out wrong."""


class BrokenAttention:
    """Layer operators that turn the sign of what some rows attend to, and enlarge it."""

    def __init__(self, inner: LayerOperators, fault: Fault) -> None:
        self._inner = inner
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def attend(self, layer: int, query: Tensor, batch: Batch) -> Tensor:
        """Attend wrongly in the rows of the fault."""
        mixed = self._inner.attend(layer, query, batch)
        return mixed.where(~self._fault(batch)[:, None], -8.0 * mixed)


class ListedTokens:
    """Keeps what the engine hands out."""

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def push(self, tokens: list[int], _finish_reason: str | None) -> None:
        """Take the tokens."""
        self.tokens.extend(tokens)

    def fail(self, message: str) -> None:
        """Fail the test."""
        raise AssertionError(message)


class EngineInProcess:
    """Answers what the accuracy check asks of a server.

    Attributes:
        engine: the engine.
    """

    def __init__(self, engine: Engine, fault: Fault | None = None) -> None:
        self.engine = engine
        self._lock = threading.Lock()
        if fault is not None:
            engine.decoder.operators = BrokenAttention(engine.decoder.operators, fault)

    def ask(self, _phase: str, _method: str, path: str, body: Any = None) -> Any:
        """Do what the server would."""
        with self._lock:
            if path == "/score":
                return score(self.engine, parse_score(body, self.engine.architecture))
            if path == "/v1/completions":
                return {"choices": [{"token_ids": self._complete(body)}]}
            return self.engine.prefix_cache.clear()

    def resolved_config(self) -> dict[str, Scalar]:
        """Return the one switch that the check looks at."""
        return {"application.max_num_seqs": self.engine.settings.application.max_num_seqs}

    def _complete(self, body: Any) -> list[int]:
        asked = parse_completion(body, self.engine.architecture)
        sink = ListedTokens()
        self.engine.scheduler.add(
            Sequence(asked.prompt, asked.parameters, asked.max_tokens, frozenset(), sink)
        )
        while self.engine.scheduler.running or self.engine.scheduler.waiting:
            for receiver, tokens, reason in self.engine.step():
                receiver.push(tokens, reason)
        return sink.tokens
