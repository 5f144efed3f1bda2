"""Seeded traces of requests: equal work for every seed, fresh prompts for each."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

SHARED_PREFIX_TOKENS = 64

# Prompt suffix and output lengths in tokens; every third request has no shared prefix and gets
# a longer suffix in its stead. Cycled, so any two traces of one length ask for the same work.
_SUFFIX_TOKENS = (24, 88, 160, 48, 120, 16, 72, 200, 40, 104, 136, 32)
_OUTPUT_TOKENS = (48, 96, 32, 144, 64, 112, 80, 40, 128, 56, 104, 72)


@dataclass(frozen=True)
class Mix:
    """How a workload differs from the standard one.

    Attributes:
        prompt_ratio: length of the prompts' own tokens over the standard.
        output_ratio: length of the outputs over the standard.
    """

    prompt_ratio: float = 1.0
    output_ratio: float = 1.0


MIXES = {
    "": Mix(),
    "long_prompts": Mix(prompt_ratio=4.0, output_ratio=0.5),
    "long_outputs": Mix(prompt_ratio=0.5, output_ratio=2.0),
}
"""Workloads by name; the standard one has no name."""


class Prompted(Protocol):
    """Anything with a prompt."""

    @property
    def prompt(self) -> tuple[int, ...]:
        """Token ids."""
        ...


@dataclass(frozen=True)
class TraceRequest:
    """One request as the engine's /v1/completions takes it; end-of-sequence is ignored."""

    prompt: tuple[int, ...]
    max_tokens: int
    temperature: float
    top_k: int
    top_p: float
    repetition_penalty: float
    seed: int

    @property
    def num_prompt_tokens(self) -> int:
        """Length of the prompt."""
        return len(self.prompt)

    def shortened(self, divisor: int) -> Self:
        """Return the request with fewer tokens to generate; two at least, to decode once."""
        return replace(self, max_tokens=max(min(2, self.max_tokens), self.max_tokens // divisor))

    def body(self) -> dict[str, Any]:
        """JSON body of a streaming completion."""
        return asdict(self) | {"prompt": list(self.prompt), "ignore_eos": True, "stream": True}


def build_trace(
    seed: int,
    *,
    num_requests: int = 24,
    vocab_size: int = 16_384,
    successors: npt.NDArray[np.int64] | None = None,
    length_scale: float = 1.0,
    mix: Mix = MIXES[""],
) -> tuple[TraceRequest, ...]:
    """Build a trace: two thirds share a 64-token prefix, half are greedy, a quarter is penalised.

    Args:
        seed: Fresh prompts and sampling seeds; the lengths and the mix do not depend on it.
        num_requests: Length of the trace.
        vocab_size: Tokens are drawn below it.
        successors: Table [vocabulary, 4] that prompts follow; uniform tokens without one.
        mix: Multiplies lengths further.
        length_scale: Multiplies suffix and output lengths, for quick runs.
    """
    generator = np.random.default_rng([seed, 7])
    shared = _walk(generator, SHARED_PREFIX_TOKENS, vocab_size, successors)
    prompt_scale, output_scale = length_scale * mix.prompt_ratio, length_scale * mix.output_ratio
    requests = []
    for index in range(num_requests):
        suffix = max(1, round(_SUFFIX_TOKENS[index % 12] * prompt_scale))
        output = max(1, round(_OUTPUT_TOKENS[index * 5 % 12] * output_scale))
        is_shared = index % 3 != 2
        own = suffix if is_shared else suffix + SHARED_PREFIX_TOKENS
        tail = _walk(generator, own, vocab_size, successors)
        is_greedy = index % 2 == 0
        requests.append(
            TraceRequest(
                prompt=shared + tail if is_shared else tail,
                max_tokens=output,
                temperature=0.0 if is_greedy else 0.8,
                top_k=0 if is_greedy else 40,
                top_p=1.0 if is_greedy else 0.95,
                repetition_penalty=1.1 if index % 4 == 3 else 1.0,
                seed=int(generator.integers(1 << 31)),
            )
        )
    return tuple(requests)


def shared_prefix_tokens(trace: Sequence[Prompted]) -> int:
    """Return the prompt tokens that an ideal prefix cache takes from other requests of a trace.

    In sorted order every prompt shares most with its neighbour, so the sum of what neighbours
    share is the number of tokens less the nodes of the prompts' prefix tree.
    """
    prompts = sorted(request.prompt for request in trace)
    return sum(_common_prefix(first, second) for first, second in pairwise(prompts))


def _common_prefix(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    for length, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return length
    return min(len(first), len(second))


def _walk(
    generator: np.random.Generator,
    length: int,
    vocab_size: int,
    successors: npt.NDArray[np.int64] | None,
) -> tuple[int, ...]:
    """Draw tokens that follow the planted successors with their probabilities."""
    if successors is None:
        return tuple(int(token) for token in generator.integers(vocab_size, size=length))
    # Equal to model_folder.SUCCESSOR_PROBABILITIES, which needs safetensors to import.
    choices = generator.choice(4, size=length, p=(0.5, 0.25, 0.15, 0.1))
    token = int(generator.integers(vocab_size))
    tokens = [token]
    for choice in choices[1:]:
        token = int(successors[token, choice])
        tokens.append(token)
    return tuple(tokens)
