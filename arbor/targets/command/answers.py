"""Answers to fixed requests beside the baseline's: equal word by word, or as far as can be."""

import json
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest

from arbor.core.accuracy import Gate
from arbor.core.distances import UNKNOWN, summarise
from arbor.events.errors import InvalidInputError
from arbor.events.types import AccuracyPass, AccuracySample, PassKind, PromptDistance
from arbor.targets.accuracy_passes import matching_ratio
from arbor.targets.command.locators import NotFoundInOutputError, Output
from arbor.targets.command.measures import AnswerAccuracy, FixedRequest
from arbor.targets.command.process import CommandServer

_ALPHA = 0.05
# as many as there are, so that every request is asked one by one, too
_ONE = 1


class AnswerCheck:
    """Takes answers and compares servers with them; an answer is its words.

    A different answer is as far away as can be: nobody knows by how much the server's numbers
    differ. So only stacks that give every answer again pass.

    Args:
        settings: the requests.
        concurrency: requests that the benchmark keeps open.
    """

    def __init__(self, settings: AnswerAccuracy, concurrency: int) -> None:
        self._settings = settings
        self._batch = max(settings.batch or concurrency, 2)

    def reference(self, server: CommandServer) -> bytes:
        """Return the baseline's answers, asked for one by one.

        Raises:
            ServerFailedError: the server failed or hung, or an answer is empty.
        """
        answers = {
            "settings": self._settings.model_dump(mode="json"),
            "short": self._answers(server, self._settings.requests, _ONE),
            "long": self._answers(server, self._settings.long_requests, _ONE),
        }
        for words in (*answers["short"], *answers["long"]):
            if not words:
                raise server.child.failure("accuracy", "an answer of the baseline is empty")
        return zlib.compress(json.dumps(answers).encode(), 1)

    def accuracy(
        self, server: CommandServer, reference: bytes, gate: Gate | None
    ) -> AccuracySample:
        """Return the distances one by one, at the benchmark's batch and of long requests.

        Raises:
            InvalidInputError: the reference was taken with other requests.
            ServerFailedError: the server failed or hung.
        """
        expected = json.loads(zlib.decompress(reference))
        if expected.get("settings") != self._settings.model_dump(mode="json"):
            raise InvalidInputError("the accuracy reference was taken with other requests")
        settings = self._settings
        plans: list[tuple[PassKind, Sequence[FixedRequest], str, int]] = [
            ("single", settings.requests, "short", _ONE),
            ("batched", settings.requests, "short", self._batch),
        ]
        if settings.long_requests:
            plans.append(("long", settings.long_requests, "long", _ONE))
        passes, all_before, all_found = [], [], []
        for kind, requests, name, batch in plans:
            before, found = expected[name], self._answers(server, requests, batch)
            all_before += before
            all_found += found
            passes.append(_pass(kind, min(batch, len(requests)), before, found))
        return summarise(
            passes,
            alpha=_ALPHA if gate is None else gate.settings.alpha,
            greedy_match_ratio=matching_ratio(all_before, all_found),
        )

    def _answers(
        self, server: CommandServer, requests: Sequence[FixedRequest], batch: int
    ) -> list[list[str]]:
        """Return the words of each answer."""

        def ask(request: FixedRequest) -> list[str]:
            text = server.ask_text("accuracy", request.method, request.path, request.body)
            if request.answer is None:
                return text.split()
            try:
                found = Output(text).find(request.answer)
            except NotFoundInOutputError as error:
                message = f"an answer of {request.path} cannot be read: {error}"
                raise server.child.failure("accuracy", message) from error
            return (found if isinstance(found, str) else json.dumps(found)).split()

        with ThreadPoolExecutor(batch) as pool:
            return list(pool.map(ask, requests))


def _pass(
    kind: PassKind, batch: int, before: Sequence[list[str]], found: Sequence[list[str]]
) -> AccuracyPass:
    return AccuracyPass(
        kind=kind,
        batch=batch,
        context_tokens=max(map(len, before)),
        prompts=tuple(_distance(*pair) for pair in zip(before, found, strict=True)),
    )


def _distance(before: list[str], found: list[str]) -> PromptDistance:
    num_equal = sum(ours == theirs for ours, theirs in zip_longest(before, found))
    is_equal = before == found
    return PromptDistance(
        num_tokens=len(before),
        kl_mean=0.0 if is_equal else UNKNOWN,
        num_top1_equal=min(num_equal, len(before)),
        nll_delta=0.0 if is_equal else UNKNOWN,
        max_logprob_delta=0.0 if is_equal else UNKNOWN,
    )
