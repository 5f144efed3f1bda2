"""Checks request bodies and turns them into what the engine takes."""

from dataclasses import dataclass
from typing import Any

from arbor.targets.engine.server.architecture import Architecture
from arbor.targets.engine.server.scoring import DEFAULT_TOP_K, ScoreRequest
from arbor.targets.engine.server.sequence import SamplingParameters

_DEFAULT_MAX_TOKENS = 16


class BadRequestError(ValueError):
    """The request cannot be served; the message goes to the client."""


@dataclass(frozen=True)
class CompletionRequest:
    """A checked body of /v1/completions."""

    prompt: list[int]
    max_tokens: int
    parameters: SamplingParameters
    ignores_eos: bool
    streams: bool


def parse_completion(body: Any, architecture: Architecture) -> CompletionRequest:
    """Check a completion body.

    Raises:
        BadRequestError: A field has a wrong type or range, or the model has too few positions.
    """
    if not isinstance(body, dict):
        raise BadRequestError("the body must be a JSON object")
    prompt = _tokens(body.get("prompt"), "prompt", architecture)
    max_tokens = _integer(body, "max_tokens", _DEFAULT_MAX_TOKENS, minimum=1)
    if len(prompt) + max_tokens > architecture.max_positions:
        raise BadRequestError(
            f"prompt of {len(prompt)} and max_tokens of {max_tokens} exceed the model's "
            f"{architecture.max_positions} positions"
        )
    if _integer(body, "n", 1, minimum=1) != 1:
        raise BadRequestError("n must be 1")
    return CompletionRequest(
        prompt=prompt,
        max_tokens=max_tokens,
        parameters=SamplingParameters(
            temperature=_number(body, "temperature", 1.0, minimum=0.0, maximum=100.0),
            top_k=max(0, _integer(body, "top_k", 0, minimum=-1)),
            top_p=_number(body, "top_p", 1.0, minimum=1e-6, maximum=1.0),
            repetition_penalty=_number(
                body, "repetition_penalty", 1.0, minimum=0.01, maximum=100.0
            ),
            seed=_integer(body, "seed", 0, minimum=0),
        ),
        ignores_eos=bool(body.get("ignore_eos")),
        streams=bool(body.get("stream")),
    )


def parse_score(body: Any, architecture: Architecture) -> ScoreRequest:
    """Check a score body.

    Raises:
        BadRequestError: A field has a wrong type or range, or a sequence a wrong length.
    """
    if not isinstance(body, dict) or not isinstance(body.get("sequences"), list):
        raise BadRequestError("the body must be a JSON object with a list of sequences")
    sequences = tuple(
        tuple(_tokens(tokens, "sequence", architecture)) for tokens in body["sequences"]
    )
    for tokens in sequences:
        if not 2 <= len(tokens) <= architecture.max_positions:
            raise BadRequestError(
                f"a sequence has {len(tokens)} tokens; allowed: 2 to {architecture.max_positions}"
            )
    return ScoreRequest(
        sequences=sequences,
        num_decode=_integer(body, "num_decode", 0, minimum=0),
        num_scored=_integer(body, "num_scored", 0, minimum=0),
        batch=_integer(body, "batch", 1, minimum=1),
        top_k=_integer(body, "top_k", DEFAULT_TOP_K, minimum=1),
    )


def _tokens(value: Any, name: str, architecture: Architecture) -> list[int]:
    if not isinstance(value, list) or not value or any(type(token) is not int for token in value):
        raise BadRequestError(
            f"{name} must be a non-empty list of token ids; there is no tokenizer"
        )
    if min(value) < 0 or max(value) >= architecture.vocab_size:
        raise BadRequestError(f"{name} has a token outside 0 to {architecture.vocab_size - 1}")
    return value


def _integer(body: dict[str, Any], name: str, default: int, *, minimum: int) -> int:
    value = body.get(name)
    if value is None:
        return default
    if type(value) is not int or value < minimum:
        raise BadRequestError(f"{name} is {value!r}; allowed: an integer from {minimum}")
    return value


def _number(
    body: dict[str, Any], name: str, default: float, *, minimum: float, maximum: float
) -> float:
    value = body.get(name)
    if value is None:
        return default
    if type(value) not in {int, float} or not minimum <= value <= maximum:
        raise BadRequestError(
            f"{name} is {value!r}; allowed: a number from {minimum:g} to {maximum:g}"
        )
    return float(value)
