"""The accuracy check: fixed prompts, teacher-forced one by one, as a full batch, and long ones."""

import json
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from arbor.core.accuracy import Gate
from arbor.events.errors import InvalidInputError
from arbor.events.types import AccuracySample, PassKind
from arbor.targets.accuracy_passes import PassPlan, looks_of, matching_ratio, run_passes
from arbor.targets.distance import prompt_distance
from arbor.targets.engine.accuracy_prompts import (
    CheckSettings,
    Prompts,
    ScoringServer,
    make_prompts,
)

TASK = "planted_successor_top1"
"""Share of positions where the likeliest planted successor is the model's likeliest token."""

_NUM_GREEDY = 4
_NUM_GREEDY_PROMPT_TOKENS = 32
_NUM_GREEDY_TOKENS = 24


class AccuracyCheck:
    """Takes references and compares servers with them.

    Args:
        settings: how much is compared.
        model: folder of the model.
        successors: table that prompts follow; None for a model that was not planted.
        concurrency: requests that the benchmark keeps open.
    """

    def __init__(
        self, settings: CheckSettings, model: Path, successors: Any, concurrency: int
    ) -> None:
        self._settings = settings
        self._successors = successors
        self._batch = max(settings.batch or concurrency, 2)
        self._short, self._long = make_prompts(settings, model, successors)
        self._parsed: tuple[bytes, dict[str, Any]] | None = None

    def reference(self, server: ScoringServer) -> bytes:
        """Return the server's scores, one sequence at a time, and greedy answers.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        answers = {
            "prompts": self._asked(),
            "short": self._short.score(server, 0, len(self._short.sequences), 1),
            "long": self._long.score(server, 0, len(self._long.sequences), 1),
            "greedy": self._greedy(server),
        }
        return zlib.compress(json.dumps(answers).encode(), 1)

    def accuracy(
        self, server: ScoringServer, reference: bytes, gate: Gate | None
    ) -> AccuracySample:
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
        # cheapest first: a stack that claims to be exact fails by its first other token
        greedy = matching_ratio(expected["greedy"], self._greedy(server))
        return run_passes(
            self._plans(server, expected, is_whole=gate is None),
            gate,
            greedy_match_ratio=greedy,
            task_name=None if self._successors is None else TASK,
        )

    def _plans(
        self, server: ScoringServer, expected: dict[str, Any], *, is_whole: bool
    ) -> tuple[PassPlan, ...]:
        settings = self._settings
        num_slots = int(server.resolved_config()["application.max_num_seqs"])
        batch = min(self._batch, num_slots)
        # whole batches, so that the first look has the benchmark's batch size
        num_full = -(-settings.num_first // batch) * batch

        def plan(kind: PassKind, prompts: Prompts, name: str, batch: int, first: int) -> PassPlan:
            return PassPlan(
                kind=kind,
                lengths=[len(sequence) for sequence in prompts.sequences],
                batch=batch,
                looks=looks_of(len(prompts.sequences), first, is_whole=is_whole),
                score=lambda start, stop: prompts.score(server, start, stop, batch),
                compare=lambda index, found: prompt_distance(
                    expected[name][index], found, prompts.likeliest(index, self._successors)
                ),
            )

        return (
            plan("single", self._short, "short", 1, settings.num_first),
            plan("batched", self._short, "short", batch, num_full),
            plan("long", self._long, "long", 1, settings.num_long_first),
        )

    def _asked(self) -> list[Any]:
        return [
            [prompts.sequences, prompts.num_scored, prompts.num_decode]
            for prompts in (self._short, self._long)
        ]

    def _expected(self, reference: bytes) -> dict[str, Any]:
        """Return the parsed reference, which is the same one all through a campaign."""
        if self._parsed is None or self._parsed[0] != reference:
            answers = json.loads(zlib.decompress(reference))
            if answers.get("prompts") != self._asked():
                raise InvalidInputError("the accuracy reference was taken with other prompts")
            self._parsed = (reference, answers)
        return self._parsed[1]

    def _greedy(self, server: ScoringServer) -> list[list[int]]:
        """Return free-running greedy answers to a few prompts that are open at the same time."""

        def ask(tokens: list[int]) -> list[int]:
            body = {
                "prompt": tokens[:_NUM_GREEDY_PROMPT_TOKENS],
                "max_tokens": _NUM_GREEDY_TOKENS,
                "temperature": 0.0,
                "ignore_eos": True,
            }
            answer = server.ask("accuracy", "POST", "/v1/completions", body)
            chosen: list[int] = answer["choices"][0]["token_ids"]
            return chosen

        with ThreadPoolExecutor(_NUM_GREEDY) as pool:
            return list(pool.map(ask, self._short.sequences[:_NUM_GREEDY]))
