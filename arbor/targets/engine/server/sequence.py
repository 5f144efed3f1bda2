"""One request on its way through the engine, and its sampling parameters."""

from dataclasses import dataclass, field
from typing import Protocol

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class SamplingParameters:
    """How the next token is chosen; temperature 0 is greedy.

    Attributes:
        temperature: divides the logits.
        top_k: keep the likeliest k tokens; 0 keeps all.
        top_p: keep the likeliest tokens up to this probability mass.
        repetition_penalty: divides positive and multiplies negative logits of tokens seen.
        seed: decides the draws, together with the number of tokens drawn so far.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def uniform(self, draw: int) -> float:
        """The number in [0, 1) that the draw-th token of the request uses (SplitMix64)."""
        state = (self.seed * 0x9E3779B97F4A7C15 + (draw + 1) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((state ^ (state >> 31)) >> 11) * 2.0**-53


class TokenSink(Protocol):
    """Where a request's tokens go."""

    def push(self, tokens: list[int], finish_reason: str | None) -> None:
        """Take new tokens; a finish reason ends the request."""

    def fail(self, message: str) -> None:
        """End the request with an error."""


@dataclass(slots=True, eq=False)
class Sequence:
    """A request's tokens and its place in the engine.

    Attributes:
        tokens: prompt and generated tokens.
        num_prompt: length of the prompt.
        num_cached: tokens whose keys and values are in the cache.
        slot: place in the KV cache, -1 while waiting.
        pending: generated tokens that were not handed out yet.
    """

    tokens: list[int]
    parameters: SamplingParameters
    max_tokens: int
    stop_tokens: frozenset[int]
    sink: TokenSink
    num_prompt: int = 0
    num_cached: int = 0
    slot: int = -1
    is_cancelled: bool = False
    pending: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.num_prompt = len(self.tokens)

    @property
    def num_generated(self) -> int:
        """Tokens generated so far."""
        return len(self.tokens) - self.num_prompt

    def finish_reason(self) -> str | None:
        """Why the sequence ends here; None while it goes on."""
        if self.num_generated and self.tokens[-1] in self.stop_tokens:
            return "stop"
        return "length" if self.num_generated >= self.max_tokens else None
