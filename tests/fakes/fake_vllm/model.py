"""The fake's model: every context of two tokens has its own few likely successors."""

import math
from collections.abc import Sequence

VOCAB_SIZE = 512
_NUM_LIKELY = 16
_MASK = 2**61 - 1
# how far a format of the cache moves logits; the last one is garbage without any error
_NOISE = {"auto": 0.0, "fp8": 0.02, "int8_per_token_head": 4.0}


def _mixed(*parts: int) -> int:
    value = 1469598103934665603
    for part in parts:
        value = ((value ^ (part + 0x9E3779B9)) * 1099511628211) & _MASK
        value ^= value >> 29
    return value


def _unit(*parts: int) -> float:
    return (_mixed(*parts) % 1_000_003) / 1_000_003


class Model:
    """Gives log-probabilities; a format of the cache disturbs them, a broken one badly.

    Args:
        cache_format: of the KV cache.
    """

    def __init__(self, cache_format: str) -> None:
        self._noise = _NOISE.get(cache_format, 0.0)

    def logprobs(self, before: Sequence[int]) -> dict[int, float]:
        """Return the likely next tokens with their log-probabilities, likeliest first."""
        one, two = (before[-2] if len(before) > 1 else 0), before[-1]
        logits: dict[int, float] = {}
        for number in range(_NUM_LIKELY):
            token = _mixed(one, two, number) % VOCAB_SIZE
            logit = 4.0 * _unit(one, two, number, 1) - 0.1 * number
            logit += self._noise * (_unit(one, two, number, 2) - 0.5)
            logits.setdefault(token, logit)
        total = math.log(sum(math.exp(logit) for logit in logits.values()) * 1.05)
        ordered = sorted(logits.items(), key=lambda pair: (-pair[1], pair[0]))
        return {token: logit - total for token, logit in ordered}

    def logprob(self, before: Sequence[int], token: int) -> float:
        """Return the log-probability of a token; an unlikely one has a small one of its own."""
        likely = self.logprobs(before)
        return likely.get(token, -9.0 - 2.0 * _unit(before[-1], token, 3))

    def greedy(self, before: Sequence[int]) -> int:
        """Return the likeliest next token."""
        return next(iter(self.logprobs(before)))
