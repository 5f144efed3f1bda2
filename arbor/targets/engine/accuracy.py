"""The accuracy check: fixed prompts, teacher-forced, one by one and as a full batch."""

import json
import zlib
from pathlib import Path
from typing import Any

from pydantic import Field

from arbor.events.errors import InvalidInputError
from arbor.events.types import AccuracySample, Value
from arbor.targets.engine.distance import compare, worst
from arbor.targets.engine.model_folder import inspect_model
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.trace import build_trace

# Seeds of the prompts, far from those of windows.
_SEED = 2_000_000_000
_NUM_GREEDY = 4
_NUM_GREEDY_PROMPT_TOKENS = 32
_NUM_GREEDY_TOKENS = 24


class CheckSettings(Value):
    """How much is compared; the default predicts 1,248 tokens."""

    num_sequences: int = Field(default=12, ge=2)
    num_tokens: int = Field(default=105, ge=16)
    """Length of a sequence; its first token is not predicted."""
    num_decode: int = Field(default=24, ge=1)
    """Predictions of a sequence that come from decode steps, the others from its prefill."""
    batch: int = Field(default=8, ge=2)
    """Sequences scored together in the second pass; the first takes them one by one."""


class AccuracyCheck:
    """Takes references and compares servers with them.

    Args:
        settings: how much is compared.
        model: folder of the model.
        successors: table that prompts follow; None for a model that was not planted.
    """

    def __init__(self, settings: CheckSettings, model: Path, successors: Any) -> None:
        self._settings = settings
        architecture = inspect_model(model)
        limit = min(settings.num_tokens, architecture.max_positions)
        # the third request of a trace has a long prompt without the shared prefix
        self._sequences = [
            list(
                build_trace(
                    _SEED + index,
                    num_requests=3,
                    vocab_size=architecture.vocab_size,
                    successors=successors,
                )[2].prompt[:limit]
            )
            for index in range(settings.num_sequences)
        ]

    def reference(self, server: EngineServer) -> bytes:
        """Return the server's scores, one sequence at a time, and greedy answers.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        answers = {
            "sequences": self._sequences,
            "scores": self._score(server, 1),
            "greedy": self._greedy(server),
        }
        return zlib.compress(json.dumps(answers).encode())

    def accuracy(self, server: EngineServer, reference: bytes) -> AccuracySample:
        """Return the worse of the distances at batch 1 and at a full batch.

        Raises:
            InvalidInputError: the reference was taken with other prompts.
            ServerFailedError: the server failed or hung.
        """
        expected = json.loads(zlib.decompress(reference))
        if expected["sequences"] != self._sequences:
            raise InvalidInputError("the accuracy reference was taken with other prompts")
        pairs = [
            (ours, theirs)
            for first, second in zip(expected["greedy"], self._greedy(server), strict=True)
            for ours, theirs in zip(first, second, strict=True)
        ]
        match = sum(ours == theirs for ours, theirs in pairs) / len(pairs)
        return worst(
            [
                compare(expected["scores"], self._score(server, batch), match)
                for batch in (1, self._settings.batch)
            ]
        )

    def _score(self, server: EngineServer, batch: int) -> Any:
        body = {
            "sequences": self._sequences,
            "num_decode": self._settings.num_decode,
            "batch": batch,
        }
        server.ask("accuracy", "POST", "/reset")
        return server.ask("accuracy", "POST", "/score", body)["results"]

    def _greedy(self, server: EngineServer) -> list[list[int]]:
        answers = []
        for tokens in self._sequences[:_NUM_GREEDY]:
            body = {
                "prompt": tokens[:_NUM_GREEDY_PROMPT_TOKENS],
                "max_tokens": _NUM_GREEDY_TOKENS,
                "temperature": 0.0,
                "ignore_eos": True,
            }
            answer = server.ask("accuracy", "POST", "/v1/completions", body)
            answers.append(answer["choices"][0]["token_ids"])
        return answers
