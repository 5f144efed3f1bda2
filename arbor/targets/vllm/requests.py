"""The requests of a window: equal work for every seed, fresh prompts for each."""

import pydoc_data.topics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arbor.targets.engine.trace import Mix
from arbor.targets.vllm.config import Workload

MAX_TEXT_CHARACTERS = 96_000
_PARAGRAPH_CHARACTERS = 1200
_MIN_PARAGRAPH_TOKENS = 8
# lengths of requests within the spread, cycled: their mean is the length that was asked for
_SPREAD = (0.0, -0.75, 0.5, -0.25, 1.0, -1.0, 0.25, -0.5, 0.75)
# room for what a server adds to a prompt
_SLACK_TOKENS = 8


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One greedy completion of tokens, streamed with token ids; end-of-sequence is ignored.

    Attributes:
        prompt: token ids.
        max_tokens: tokens of the answer.
        model: name that the server serves under.
        salt: keeps prefixes of other windows out of the prefix cache.
        temperature: of the sampler; 0 is greedy.
    """

    prompt: tuple[int, ...]
    max_tokens: int
    model: str
    salt: str
    temperature: float = 0.0

    @property
    def num_prompt_tokens(self) -> int:
        """Length of the prompt."""
        return len(self.prompt)

    def body(self) -> dict[str, Any]:
        """Return the JSON body."""
        return {
            "model": self.model,
            "prompt": list(self.prompt),
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_token_ids": True,
            "cache_salt": self.salt,
        }


class TokenSource:
    """Draws token sequences: uniform ones, or from paragraphs of prose.

    Args:
        vocab_size: uniform tokens are drawn below nine tenths of it, and not from its beginning,
            where vocabularies hold their special tokens.
        paragraphs: prose in the model's tokens; empty draws uniform tokens.
    """

    def __init__(self, vocab_size: int, paragraphs: Sequence[Sequence[int]] = ()) -> None:
        self._low = min(1000, vocab_size // 10)
        self._high = max(vocab_size * 9 // 10, self._low + 1)
        self._paragraphs = [tuple(each) for each in paragraphs]

    def draw(self, generator: np.random.Generator, length: int) -> tuple[int, ...]:
        """Return a sequence of a length."""
        if not self._paragraphs:
            return tuple(int(t) for t in generator.integers(self._low, self._high, size=length))
        tokens: list[int] = []
        # prompts do not all begin where a paragraph does
        skipped = int(generator.integers(_MIN_PARAGRAPH_TOKENS))
        while len(tokens) < length + skipped:
            tokens += self._paragraphs[int(generator.integers(len(self._paragraphs)))]
        return tuple(tokens[skipped : skipped + length])


def prose() -> tuple[str, ...]:
    """Return paragraphs of English: what the interpreter's own help says of the language."""
    topics = pydoc_data.topics.topics
    paragraphs = [
        " ".join(paragraph.split())
        for name in sorted(topics)
        for paragraph in topics[name].split("\n\n")
    ]
    chosen: list[str] = []
    num_characters = 0
    for paragraph in paragraphs:
        text = paragraph[:_PARAGRAPH_CHARACTERS]
        if len(text) < 80 or num_characters > MAX_TEXT_CHARACTERS:
            continue
        chosen.append(text)
        num_characters += len(text)
    return tuple(chosen)


def tokenised(
    paragraphs: Sequence[str], tokenise: Callable[[str], Sequence[int]]
) -> tuple[tuple[int, ...], ...]:
    """Return paragraphs as tokens; what is too short to tell prompts apart is left out."""
    found = (tuple(tokenise(paragraph)) for paragraph in paragraphs)
    return tuple(tokens for tokens in found if len(tokens) >= _MIN_PARAGRAPH_TOKENS)


def build_requests(
    workload: Workload,
    mix: Mix,
    source: TokenSource,
    *,
    seed: int,
    num_requests: int,
    model: str,
    salt: str,
    max_length: int | None,
) -> tuple[CompletionRequest, ...]:
    """Return the requests of a window.

    Args:
        workload: lengths and shared prefix.
        mix: how the workload differs from the standard one.
        source: draws the prompts.
        seed: fresh prompts for each; lengths do not depend on it.
        num_requests: how many.
        model: name that the server serves under.
        salt: of the window.
        max_length: longest sequence that the server takes; longer prompts are made shorter.
    """
    generator = np.random.default_rng([seed, 11])
    shared = source.draw(generator, workload.prefix_tokens) if workload.prefix_tokens else ()
    requests = []
    for index in range(num_requests):
        num_output = _length(workload.output_tokens * mix.output_ratio, workload, index * 4 + 2)
        num_input = _length(workload.input_tokens * mix.prompt_ratio, workload, index)
        if max_length is not None:
            num_output = min(num_output, max(2, max_length // 2))
            num_input = min(num_input, max_length - num_output - _SLACK_TOKENS)
        own = source.draw(generator, max(num_input - len(shared), 1))
        requests.append(CompletionRequest((*shared, *own), num_output, model, salt))
    return tuple(requests)


def _length(mean: float, workload: Workload, index: int) -> int:
    spread = 1.0 + workload.length_spread * _SPREAD[index % len(_SPREAD)]
    return max(2, round(mean * spread))
