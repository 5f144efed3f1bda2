"""Distributions of the next token after fixed texts, one request for one token each."""

import hashlib
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from arbor.core.accuracy import Gate
from arbor.events.errors import InvalidInputError
from arbor.events.types import AccuracySample, PassKind
from arbor.targets.accuracy_passes import PassPlan, looks_of, matching_ratio, run_passes
from arbor.targets.base import ServerFailedError
from arbor.targets.command.measures import LogprobAccuracy
from arbor.targets.command.process import CommandServer
from arbor.targets.command.prompts import words
from arbor.targets.distance import Scores, prompt_distance

# Seeds of the texts, far from those of windows.
_SEED, _LONG_SEED = 2_000_000_000, 2_100_000_000
# what stands in the place of tokens that a server did not list; never equal between two stacks
_ABSENT_BASELINE, _ABSENT = -1, -2
_NOTHING = -math.inf


@dataclass(frozen=True)
class _Texts:
    """Texts of one length, and how much of each is shown to the server at each position."""

    texts: list[list[str]]
    cuts: list[int]

    @property
    def lengths(self) -> list[int]:
        return [len(text) for text in self.texts]

    def prompts(self, start: int, stop: int) -> list[str]:
        """Return the beginnings of some texts, position by position."""
        return [" ".join(text[:cut]) for text in self.texts[start:stop] for cut in self.cuts]


class NextTokenCheck:
    """Takes references and compares servers with them.

    The token whose likelihood is compared at each position is the baseline's likeliest one: the
    tokens of a text are the server's own business.

    Args:
        settings: how much is compared.
        concurrency: requests that the benchmark keeps open.
    """

    def __init__(self, settings: LogprobAccuracy, concurrency: int) -> None:
        self._settings = settings
        self._batch = max(settings.batch or concurrency, 2)
        self._short = _texts(
            _SEED, settings.num_prompts, settings.num_words, settings.num_positions
        )
        self._long = _texts(
            _LONG_SEED, settings.num_long, settings.num_long_words, settings.num_long_positions
        )

    def reference(self, server: CommandServer) -> bytes:
        """Return the baseline's distributions, asked for one by one, and greedy answers.

        Raises:
            ServerFailedError: the server failed, hung, or gives no log-probs.
        """
        answers = {
            "settings": self._settings.model_dump(mode="json"),
            "short": self._score(server, self._short, 0, len(self._short.texts), 1),
            "long": self._score(server, self._long, 0, len(self._long.texts), 1),
            "greedy": self._greedy(server),
        }
        return zlib.compress(json.dumps(answers).encode(), 1)

    def accuracy(
        self, server: CommandServer, reference: bytes, gate: Gate | None
    ) -> AccuracySample:
        """Return the distances one by one, at the benchmark's batch and after long texts.

        Raises:
            InvalidInputError: the reference was taken with other settings.
            ServerFailedError: the server failed or hung.
        """
        expected = json.loads(zlib.decompress(reference))
        if expected.get("settings") != self._settings.model_dump(mode="json"):
            raise InvalidInputError("the accuracy reference was taken with other settings")
        greedy = matching_ratio(expected["greedy"], self._greedy(server))
        settings, is_whole = self._settings, gate is None

        def plan(kind: PassKind, texts: _Texts, name: str, batch: int, first: int) -> PassPlan:
            rows = expected[name]
            return PassPlan(
                kind=kind,
                lengths=texts.lengths,
                batch=batch,
                looks=looks_of(len(texts.texts), first, is_whole=is_whole),
                score=lambda start, stop: [
                    _scores(found, before, _ABSENT)
                    for found, before in zip(
                        self._score(server, texts, start, stop, batch),
                        rows[start:stop],
                        strict=True,
                    )
                ],
                compare=lambda index, scores: prompt_distance(
                    _scores(rows[index], rows[index], _ABSENT_BASELINE), scores
                ),
            )

        return run_passes(
            (
                plan("single", self._short, "short", 1, settings.num_first),
                plan("batched", self._short, "short", self._batch, settings.num_first),
                plan("long", self._long, "long", 1, settings.num_long),
            ),
            gate,
            greedy_match_ratio=greedy,
        )

    def _score(
        self, server: CommandServer, texts: _Texts, start: int, stop: int, batch: int
    ) -> list[list[list[list[Any]]]]:
        """Return token and log-prob of the likeliest tokens, [text, position, token]."""

        def ask(prompt: str) -> list[list[Any]]:
            # the distribution itself, which greedy sampling may hide
            body = {"max_tokens": 1, "temperature": 1.0, "logprobs": self._settings.top_logprobs}
            answer = self._ask(server, prompt, body)
            ranked = sorted(_likeliest(server, answer).items(), key=lambda pair: -pair[1])
            return [list(pair) for pair in ranked[: self._settings.top_logprobs]]

        with ThreadPoolExecutor(batch) as pool:
            rows = list(pool.map(ask, texts.prompts(start, stop)))
        size = len(texts.cuts)
        return [rows[index : index + size] for index in range(0, len(rows), size)]

    def _greedy(self, server: CommandServer) -> list[list[int]]:
        """Return the tokens of greedy answers to a few texts that are open at the same time."""
        body = {"max_tokens": self._settings.num_greedy_tokens, "temperature": 0.0, "logprobs": 1}

        def ask(text: list[str]) -> list[int]:
            answer = self._ask(server, " ".join(text), body)
            return [_number(token) for token in _tokens(server, answer)]

        with ThreadPoolExecutor(self._settings.num_greedy) as pool:
            return list(pool.map(ask, self._short.texts[: self._settings.num_greedy]))

    def _ask(self, server: CommandServer, prompt: str, body: Mapping[str, Any]) -> Any:
        named = {"model": self._settings.model} if self._settings.model else {}
        sent = {"prompt": prompt, **body, **named, **self._settings.body}
        return server.ask("accuracy", "POST", self._settings.path, sent)


def _texts(seed: int, number: int, num_words: int, num_positions: int) -> _Texts:
    half = num_words // 2
    cuts = [half + (index + 1) * half // num_positions for index in range(num_positions)]
    return _Texts([words(seed + index, num_words) for index in range(number)], cuts)


def _logprobs(server: CommandServer, answer: Any) -> Mapping[str, Any]:
    """Return the log-probs of an answer's only choice.

    Raises:
        ServerFailedError: there are none.
    """
    try:
        found = answer["choices"][0]["logprobs"]
    except (KeyError, IndexError, TypeError):
        found = None
    if not isinstance(found, dict):
        raise server.child.failure(
            "accuracy", "the answer has no choices.0.logprobs; use accuracy kind answers"
        )
    return found


def _likeliest(server: CommandServer, answer: Any) -> dict[str, float]:
    """Return log-probs by token in either of OpenAI's two forms: completions or chat.

    Raises:
        ServerFailedError: the answer has another form.
    """
    found = _logprobs(server, answer)
    try:
        if found.get("content"):
            pairs = [
                (each["token"], each["logprob"]) for each in found["content"][0]["top_logprobs"]
            ]
        else:
            pairs = list(found["top_logprobs"][0].items())
        listed = [(str(token), float(value)) for token, value in pairs]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise _wrong_form(server, error) from error
    best: dict[str, float] = {}
    for token, value in listed:
        # different tokens may have the same text
        best[token] = max(value, best.get(token, _NOTHING))
    if not best:
        raise _wrong_form(server, ValueError("it lists no token"))
    return best


def _tokens(server: CommandServer, answer: Any) -> list[str]:
    """Return the tokens of an answer.

    Raises:
        ServerFailedError: the answer has another form, or no token.
    """
    found = _logprobs(server, answer)
    try:
        listed = [each["token"] for each in found["content"]] if found.get("content") else None
        tokens = [str(token) for token in (found["tokens"] if listed is None else listed)]
    except (KeyError, TypeError) as error:
        raise _wrong_form(server, error) from error
    if not tokens:
        raise _wrong_form(server, ValueError("it has no token"))
    return tokens


def _wrong_form(server: CommandServer, error: Exception) -> ServerFailedError:
    return server.child.failure("accuracy", f"log-probs are not of OpenAI's form: {error!r}")


def _number(token: str) -> int:
    """Return a number for a token's text, the same one everywhere."""
    return int.from_bytes(hashlib.sha256(token.encode()).digest()[:6])


def _scores(
    found: Sequence[Sequence[Any]], before: Sequence[Sequence[Any]], absent: int
) -> Scores:
    """Return one text's scores as distances are computed from them.

    Args:
        found: the stack's likeliest tokens, [position, token].
        before: the baseline's.
        absent: stands for tokens that were not listed.
    """
    width = max(len(row) for row in (*found, *before))
    filled = [[*row, *[[None, _NOTHING]] * (width - len(row))] for row in found]
    targets = [row[0][0] for row in before]
    return {
        "top_ids": [[absent if t is None else _number(t) for t, _ in row] for row in filled],
        "top_logprobs": [[value for _, value in row] for row in filled],
        "top1": [_number(row[0][0]) for row in filled],
        # what is not listed is at most as likely as the last that is
        "logprobs": [
            dict(map(tuple, row)).get(target, row[-1][1])
            for row, target in zip(found, targets, strict=True)
        ],
    }
