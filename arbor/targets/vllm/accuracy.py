"""The accuracy check: log-probabilities of fixed prompts, one by one, as a batch, and long."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from arbor.core.accuracy import Gate
from arbor.events.errors import InvalidInputError
from arbor.events.types import AccuracySample, PassKind, TaskScore
from arbor.targets.accuracy_passes import PassPlan, looks_of, matching_ratio, run_passes
from arbor.targets.vllm.config import CheckSettings
from arbor.targets.vllm.requests import TokenSource
from arbor.targets.vllm.scoring import NUM_DECODED, Prompts, distance, greedy
from arbor.targets.vllm.server import VllmServer

# Seeds of the prompts, far from those of windows.
_SEED = 2_000_000_000
_LONG_SEED = 2_100_000_000
_SLACK_TOKENS = 8


class AccuracyCheck:
    """Takes references and compares servers with them.

    vLLM's results depend within rounding on what is computed together, so that each pass has a
    reference that was taken in its own way.

    Args:
        settings: how much is compared.
        source: draws the prompts.
        max_length: longest sequence that the baseline takes; None when it does not tell.
        concurrency: requests that the benchmark keeps open.
    """

    def __init__(
        self,
        settings: CheckSettings,
        source: TokenSource,
        max_length: int | None,
        concurrency: int,
    ) -> None:
        self._settings = settings
        self._batch = max(settings.batch or concurrency, 2)
        limit = settings.long_tokens
        if max_length is not None:
            limit = min(limit, max_length - NUM_DECODED - _SLACK_TOKENS)
        short = min(settings.num_tokens, limit)
        self._short = _prompts(settings, source, _SEED, settings.num_sequences, short)
        self._long = _prompts(settings, source, _LONG_SEED, settings.num_long, limit)
        self._parsed: tuple[bytes, dict[str, Any]] | None = None

    def reference(self, server: VllmServer, task: TaskScore | None = None) -> bytes:
        """Return the server's scores and greedy answers.

        Args:
            server: of the baseline.
            task: its score of a task.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        num_short, num_long = len(self._short.sequences), len(self._long.sequences)
        answers = {
            "prompts": self._asked(),
            "single": self._short.score(server, 0, num_short, 1),
            "batched": self._short.score(server, 0, num_short, self._batch),
            "long": self._long.score(server, 0, num_long, 1),
            "greedy": _repeated(self._greedy(server), self._greedy(server)),
            "task": None if task is None else task.model_dump(),
        }
        return zlib.compress(json.dumps(answers).encode(), 1)

    def baseline_task(self, reference: bytes) -> TaskScore | None:
        """Return the baseline's score of a task.

        Raises:
            InvalidInputError: the reference was taken with other prompts.
        """
        told = self._expected(reference)["task"]
        return None if told is None else TaskScore.model_validate(told)

    def accuracy(self, server: VllmServer, reference: bytes, gate: Gate | None) -> AccuracySample:
        """Return the distances one by one, at the benchmark's batch and in long contexts.

        Args:
            server: what is checked.
            reference: what ``reference`` gave on the baseline.
            gate: bounds at which to stop early, once they clearly hold or clearly fail; everything
                is compared when None.

        Raises:
            InvalidInputError: the reference was taken with other prompts.
            ServerFailedError: the server failed or hung.
        """
        expected = self._expected(reference)
        ratio = self._greedy_ratio(server, expected["greedy"])
        plans = self._plans(server, expected, is_whole=gate is None)
        return run_passes(plans, gate, greedy_match_ratio=ratio)

    def _plans(
        self, server: VllmServer, expected: dict[str, Any], *, is_whole: bool
    ) -> tuple[PassPlan, ...]:
        settings = self._settings
        # whole batches, so that the first look has the benchmark's batch size
        num_full = -(-settings.num_first // self._batch) * self._batch

        def plan(kind: PassKind, prompts: Prompts, batch: int, first: int) -> PassPlan:
            return PassPlan(
                kind=kind,
                lengths=[len(sequence) for sequence in prompts.sequences],
                batch=batch,
                looks=looks_of(len(prompts.sequences), first, is_whole=is_whole),
                score=lambda start, stop: prompts.score(server, start, stop, batch),
                compare=lambda index, found: distance(expected[kind][index], found),
            )

        return (
            plan("single", self._short, 1, settings.num_first),
            plan("batched", self._short, self._batch, num_full),
            plan("long", self._long, 1, settings.num_long_first),
        )

    def _greedy_ratio(self, server: VllmServer, expected: list[list[int]]) -> float | None:
        """Return the share of the tokens that the baseline itself repeats; None if it has none."""
        if not any(expected):
            return None
        found = self._greedy(server)
        # beyond what the baseline repeats nothing can be said
        pairs = zip(found, expected, strict=True)
        return matching_ratio(expected, [f[: len(e)] for f, e in pairs])

    def _greedy(self, server: VllmServer) -> list[list[int]]:
        sequences = self._short.sequences[: self._settings.num_greedy]
        return greedy(server, sequences, self._settings.num_greedy_tokens)

    def _asked(self) -> list[Any]:
        return [
            [[list(sequence) for sequence in prompts.sequences], prompts.top_logprobs]
            for prompts in (self._short, self._long)
        ] + [[self._batch, self._settings.num_greedy, self._settings.num_greedy_tokens]]

    def _expected(self, reference: bytes) -> dict[str, Any]:
        """Return the parsed reference, which is the same one all through a campaign."""
        if self._parsed is None or self._parsed[0] != reference:
            answers = json.loads(zlib.decompress(reference))
            if answers.get("prompts") != self._asked():
                raise InvalidInputError("the accuracy reference was taken with other prompts")
            self._parsed = (reference, answers)
        return self._parsed[1]


def _prompts(
    settings: CheckSettings, source: TokenSource, seed: int, number: int, length: int
) -> Prompts:
    sequences = [
        source.draw(np.random.default_rng([seed, index]), length) for index in range(number)
    ]
    return Prompts(sequences, settings.top_logprobs)


def _repeated(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the beginnings that are equal in two runs of the same server."""
    common = []
    for one, other in zip(first, second, strict=True):
        num = 0
        for ours, theirs in zip(one, other, strict=False):
            if ours != theirs:
                break
            num += 1
        common.append(list(one[:num]))
    return common
