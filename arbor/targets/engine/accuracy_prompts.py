"""The fixed prompts of the accuracy check, short and long, and how a server scores them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field

from arbor.events.types import Value
from arbor.targets.base import FlatConfig
from arbor.targets.distance import Scores
from arbor.targets.engine.model_folder import inspect_model
from arbor.targets.engine.trace import build_trace

# Seeds of the prompts, far from those of windows.
_SEED = 2_000_000_000
_LONG_SEED = 2_100_000_000
# A trace's third prompt has no shared prefix: its head, and what the scale stretches, in tokens.
_HEAD_TOKENS, _STRETCHED_TOKENS = 64, 160


class ScoringServer(Protocol):
    """What the check needs of a server."""

    def ask(self, phase: str, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON answer to a request.

        Raises:
            ServerFailedError: there was none.
        """
        ...

    def resolved_config(self) -> FlatConfig:
        """Return the switches in effect.

        Raises:
            ServerFailedError: the server does not answer.
        """
        ...


class CheckSettings(Value):
    """How much is compared; the default predicts 1,512 tokens in short prompts a pass."""

    num_sequences: int = Field(default=24, ge=2)
    num_tokens: int = Field(default=64, ge=16)
    """Length of a sequence; its first token is not predicted."""
    num_decode: int = Field(default=8, ge=1)
    """Predictions of a sequence that come from decode steps, the others from its prefill."""
    batch: int | None = Field(default=None, ge=2)
    """Sequences scored together in the second pass; by default what the client keeps open."""
    num_first: int = Field(default=8, ge=2)
    """Sequences after which a pass may end early."""
    num_long: int = Field(default=4, ge=2)
    """Sequences of the model's greatest length."""
    num_long_scored: int = Field(default=512, ge=16)
    """Last positions of a long sequence that are compared."""
    num_long_first: int = Field(default=2, ge=2)
    """Long sequences after which the pass may end early."""


@dataclass(frozen=True)
class Prompts:
    """Prompts of one kind, and how they are scored.

    Attributes:
        sequences: token ids.
        num_scored: last predictions of each that are compared.
        num_decode: of these, how many come from decode steps.
    """

    sequences: list[list[int]]
    num_scored: int
    num_decode: int

    def score(self, server: ScoringServer, start: int, stop: int, batch: int) -> list[Scores]:
        """Return the scores of some of the prompts from an empty prefix cache."""
        body = {
            "sequences": self.sequences[start:stop],
            "num_decode": self.num_decode,
            "num_scored": self.num_scored,
            "batch": batch,
        }
        server.ask("accuracy", "POST", "/reset")
        results: list[Scores] = server.ask("accuracy", "POST", "/score", body)["results"]
        return results

    def likeliest(self, index: int, successors: Any) -> list[int] | None:
        """Return the likeliest planted successor at each scored position of a prompt."""
        if successors is None:
            return None
        before = self.sequences[index][:-1][-self.num_scored :]
        return [int(successors[token, 0]) for token in before]


def make_prompts(settings: CheckSettings, model: Path, successors: Any) -> tuple[Prompts, Prompts]:
    """Return the short prompts, and those of the model's greatest length.

    Args:
        settings: how much is compared.
        model: folder of the model.
        successors: table that prompts follow; None for a model that was not planted.
    """
    architecture = inspect_model(model)
    limit = architecture.max_positions

    def sequences(seed: int, number: int, length: int) -> list[list[int]]:
        scale = max(1.0, (length - _HEAD_TOKENS) / _STRETCHED_TOKENS)
        traces = (
            build_trace(
                seed + index,
                num_requests=3,
                vocab_size=architecture.vocab_size,
                successors=successors,
                length_scale=scale,
            )
            for index in range(number)
        )
        return [list(trace[2].prompt[:length]) for trace in traces]

    short = min(settings.num_tokens, limit)
    return (
        Prompts(sequences(_SEED, settings.num_sequences, short), short - 1, settings.num_decode),
        Prompts(
            sequences(_LONG_SEED, settings.num_long, limit),
            min(settings.num_long_scored, limit - 1),
            settings.num_decode,
        ),
    )
