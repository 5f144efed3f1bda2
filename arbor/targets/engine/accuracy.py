"""The accuracy check: fixed prompts, teacher-forced one by one, as a full batch, and long ones."""

import json
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from arbor.core.accuracy import Gate, Verdict, outlook
from arbor.core.distances import summarise
from arbor.events.errors import InvalidInputError
from arbor.events.types import AccuracyPass, AccuracySample, PassKind, PromptDistance
from arbor.targets.engine.accuracy_prompts import (
    CheckSettings,
    Prompts,
    ScoringServer,
    make_prompts,
)
from arbor.targets.engine.distance import Scores, prompt_distance

TASK = "planted_successor_top1"
"""Share of positions where the likeliest planted successor is the model's likeliest token."""

_NUM_GREEDY = 4
_NUM_GREEDY_PROMPT_TOKENS = 32
_NUM_GREEDY_TOKENS = 24
# A check looks at its first prompts, and at all of them when those leave it open.
_NUM_LOOKS = 2
# Miscoverage of intervals when nobody stops early.
_ALPHA = 0.05


@dataclass(frozen=True)
class _Plan:
    """One pass: which prompts, how many at once, and after how many it may end."""

    kind: PassKind
    prompts: Prompts
    reference: list[Scores]
    batch: int
    looks: tuple[int, ...]


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
        greedy = _match(expected["greedy"], self._greedy(server))
        passes: list[AccuracyPass] = []
        for plan in self._plans(server, expected, is_whole=gate is None):
            measured, verdict = self._measure(server, plan, gate, greedy)
            passes.append(measured)
            if gate is not None and verdict != "holds":
                break
        return self._summarise(passes, gate, greedy)

    def _plans(
        self, server: ScoringServer, expected: dict[str, Any], *, is_whole: bool
    ) -> tuple[_Plan, ...]:
        settings = self._settings
        num_slots = int(server.resolved_config()["application.max_num_seqs"])
        batch = min(self._batch, num_slots)
        # whole batches, so that the first look has the benchmark's batch size
        num_full = -(-settings.num_first // batch) * batch

        def plan(kind: PassKind, prompts: Prompts, name: str, batch: int, first: int) -> _Plan:
            number = len(prompts.sequences)
            looks = (number,) if is_whole or first >= number else (first, number)
            return _Plan(kind, prompts, expected[name], batch, looks)

        return (
            plan("single", self._short, "short", 1, settings.num_first),
            plan("batched", self._short, "short", batch, num_full),
            plan("long", self._long, "long", 1, settings.num_long_first),
        )

    def _measure(
        self, server: ScoringServer, plan: _Plan, gate: Gate | None, greedy: float
    ) -> tuple[AccuracyPass, Verdict | None]:
        """Score prompts until the gate's bounds clearly hold or clearly fail, or none are left."""
        done: tuple[PromptDistance, ...] = ()
        for stop in plan.looks:
            measured = self._extended(server, plan, done, stop)
            done = measured.prompts
            if gate is not None:
                part = self._summarise([measured], gate, greedy)
                if (verdict := outlook(part, gate.of_one_pass())) is not None:
                    return measured, verdict
        return measured, None

    def _extended(
        self, server: ScoringServer, plan: _Plan, done: tuple[PromptDistance, ...], stop: int
    ) -> AccuracyPass:
        """Return a pass whose prompts up to ``stop`` are scored, of which some are done."""
        start = len(done)
        found = plan.prompts.score(server, start, stop, plan.batch)
        pairs = enumerate(zip(plan.reference[start:stop], found, strict=True), start)
        more = (
            prompt_distance(ours, theirs, plan.prompts.likeliest(index, self._successors))
            for index, (ours, theirs) in pairs
        )
        return AccuracyPass(
            kind=plan.kind,
            batch=min(plan.batch, stop),
            context_tokens=max(map(len, plan.prompts.sequences[:stop])),
            prompts=(*done, *more),
        )

    def _summarise(
        self, passes: Sequence[AccuracyPass], gate: Gate | None, greedy: float
    ) -> AccuracySample:
        # every look may end a pass, so each gets its part of the miscoverage
        alpha = _ALPHA if gate is None else gate.settings.alpha / _NUM_LOOKS
        return summarise(
            passes,
            alpha=alpha,
            greedy_match_ratio=greedy,
            task_name=None if self._successors is None else TASK,
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


def _match(expected: list[list[int]], found: list[list[int]]) -> float:
    """Return the share of equal tokens; one that is missing differs."""
    is_equal = [
        bool(our == their)
        for ours, theirs in zip(expected, found, strict=True)
        for our, their in zip_longest(ours, theirs)
    ]
    return sum(is_equal) / len(is_equal)
