"""Log-probabilities of prompts, and of the greedy tokens that follow, from ``/v1/completions``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arbor.events.types import PromptDistance
from arbor.targets.base import ServerFailedError
from arbor.targets.distance import Scores, prompt_distance
from arbor.targets.vllm.server import VllmServer

_PHASE = "accuracy"
_NO_TOKEN = -1
_PREFIX = "token_id:"
NUM_DECODED = 8
"""Greedy tokens after a prompt whose log-probabilities come from decode steps."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompts of one kind.

    Attributes:
        sequences: token ids.
        top_logprobs: likeliest tokens that are asked for at each position.
    """

    sequences: Sequence[Sequence[int]]
    top_logprobs: int

    def score(self, server: VllmServer, start: int, stop: int, batch: int) -> list[Scores]:
        """Return the scores of some of the prompts, ``batch`` of them in one request each.

        Raises:
            ServerFailedError: the server failed, hung, or gave no log-probabilities.
        """
        found: list[Scores] = []
        for first in range(start, stop, batch):
            sequences = self.sequences[first : min(first + batch, stop)]
            choices = _complete(server, sequences, self.top_logprobs, NUM_DECODED)
            try:
                found += [
                    scores_of(list(sequence), choice, self.top_logprobs)
                    for sequence, choice in zip(sequences, choices, strict=True)
                ]
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                raise _unusable(server, error) from error
        return found


def distance(ours: Scores, theirs: Scores) -> PromptDistance:
    """Return the distance of a prompt's scores from the baseline's.

    Decode steps are compared as long as both stacks chose the same tokens, the first different
    one included: afterwards they continue different texts.

    Args:
        ours: the baseline's scores.
        theirs: scores of the same prompt.
    """
    num_common = 0
    differs = False
    for our, their in zip(ours["decoded"], theirs["decoded"], strict=False):
        num_common += 1
        if our != their:
            differs = True
            break
    num = int(ours["num_prompt"]) + num_common
    one, other = _first(ours, num), _first(theirs, num)
    if differs:
        # the same token must be judged: at most as likely as the least likely one that was told
        likely = dict(zip(other["top_ids"][-1], other["top_logprobs"][-1], strict=True))
        told = likely.get(ours["decoded"][num_common - 1], min(likely.values()))
        other = {**other, "logprobs": [*other["logprobs"][:-1], told]}
    return prompt_distance(one, other)


def greedy(server: VllmServer, sequences: Sequence[Sequence[int]], num: int) -> list[list[int]]:
    """Return free-running greedy answers, one prompt at a time.

    Raises:
        ServerFailedError: the server failed, hung, or gave no tokens.
    """
    answers = []
    for sequence in sequences:
        body = _body(server, [sequence], num) | {"return_token_ids": True}
        answer = server.ask(_PHASE, "POST", "/v1/completions", body)
        try:
            answers.append([int(token) for token in answer["choices"][0]["token_ids"]])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise _unusable(server, error) from error
    return answers


def scores_of(sequence: list[int], choice: Mapping[str, Any], top: int) -> Scores:
    """Return the scores of one answer: the prompt's positions, then the decoded ones.

    Args:
        sequence: the prompt.
        choice: of the answer.
        top: likeliest tokens at each position.

    Raises:
        KeyError: a position lacks its own token.
        ValueError: another number of positions than the prompt has.
    """
    positions = choice["prompt_logprobs"]
    if len(positions) != len(sequence):
        raise ValueError(f"{len(positions)} positions of {len(sequence)} were scored")
    given: list[float] = []
    ids: list[list[int]] = []
    values: list[list[float]] = []
    # the first token is predicted by nothing
    for token, entry in zip(sequence[1:], positions[1:], strict=True):
        by_id = {int(key): _logprob(each["logprob"]) for key, each in entry.items()}
        given.append(by_id[token])
        _append_likeliest(by_id, top, ids, values)
    decoded = choice["logprobs"]
    tokens = [_token_id(text) for text in decoded["tokens"]]
    for token, value, entry in zip(
        tokens, decoded["token_logprobs"], decoded["top_logprobs"], strict=True
    ):
        by_id = {_token_id(text): _logprob(each) for text, each in entry.items()}
        by_id.setdefault(token, _logprob(value))
        given.append(by_id[token])
        _append_likeliest(by_id, top, ids, values)
    return {
        "logprobs": given,
        "top1": [each[0] for each in ids],
        "top_ids": ids,
        "top_logprobs": values,
        "num_prompt": len(sequence) - 1,
        "decoded": tokens,
    }


def _append_likeliest(
    by_id: Mapping[int, float], top: int, ids: list[list[int]], values: list[list[float]]
) -> None:
    """Append the likeliest tokens; the given one beyond them is not among them."""
    # a NaN sorts last, and makes the position a broken one
    ordered = sorted(by_id.items(), key=lambda pair: (math.isnan(pair[1]), -pair[1], pair[0]))
    chosen = ordered[:top]
    if any(math.isnan(value) for value in by_id.values()):
        chosen = [(chosen[0][0], math.nan), *chosen[1:]]
    missing = top - len(chosen)
    ids.append([token for token, _ in chosen] + [_NO_TOKEN] * missing)
    values.append([value for _, value in chosen] + [-math.inf] * missing)


def _first(scores: Scores, num: int) -> Scores:
    names = ("logprobs", "top1", "top_ids", "top_logprobs")
    return {name: scores[name][:num] for name in names}


def _complete(
    server: VllmServer, sequences: Sequence[Sequence[int]], top: int, num_decoded: int
) -> list[Mapping[str, Any]]:
    body = _body(server, sequences, num_decoded) | {
        "prompt_logprobs": top,
        "logprobs": top,
        "return_tokens_as_token_ids": True,
    }
    answer = server.ask(_PHASE, "POST", "/v1/completions", body)
    try:
        choices: list[Mapping[str, Any]] = sorted(answer["choices"], key=lambda c: c["index"])
    except (KeyError, TypeError) as error:
        raise _unusable(server, error) from error
    return choices


def _body(server: VllmServer, sequences: Sequence[Sequence[int]], num: int) -> dict[str, Any]:
    return {
        "model": server.name,
        "prompt": [list(sequence) for sequence in sequences],
        "max_tokens": num,
        "temperature": 0.0,
        "ignore_eos": True,
    }


def _logprob(value: Any) -> float:
    return math.nan if value is None else float(value)


def _token_id(text: str) -> int:
    return int(text.removeprefix(_PREFIX))


def _unusable(server: VllmServer, error: Exception) -> ServerFailedError:
    told = f"{type(error).__name__}: {error}"
    return server.failure(_PHASE, f"/v1/completions answered without log-probabilities ({told})")
