"""Seeded prompts: English words, since a server's own tokens are not known here, or token ids."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arbor.targets.command.measures import Mix, OpenAiLoad

_WORDS = (  # noqa: SIM905 - a list would take a line for each word
    "the of and to in is that it was for on are as with his they be at one have this from or"
    " had by hot but some what there we can out other were all your when up use word how said"
    " an each she which do their time if will way about many then them would write like so"
    " these her long make thing see him two has look more day could go come did my sound no"
    " most number who over know water than call first people may down side been now find any"
    " new work part take get place made live where after back little only round man year came"
    " show every good me give our under name very through just form much great think say help"
    " low line before turn cause same mean differ move right boy old too does tell sentence"
    " set three want air well also play small end put home read hand port large spell add even"
    " land here must big high such follow act why ask men change went light kind off need"
    " house picture try us again animal point mother world near build self earth father head"
    " stand own page should country found answer school grow study still learn plant cover"
    " food sun four thought let keep eye never last door between city tree cross since hard"
    " start might story saw far sea draw left late run while press close night real life few"
).split()
_STREAM = 11
# a fixed pattern, so that any two windows of one length ask for the same work
_SPREAD = (0.0, 1.0, -0.6, 0.4, -1.0, 0.7, -0.3, 0.2)


def words(seed: int, number: int) -> list[str]:
    """Return common words that depend on a seed alone."""
    generator = np.random.default_rng([seed, _STREAM])
    return [_WORDS[index] for index in generator.integers(len(_WORDS), size=number)]


@dataclass(frozen=True)
class CompletionRequest:
    """One streamed completion or chat.

    Attributes:
        prompt: text, or token ids.
        max_tokens: tokens that the answer shall have.
        settings: the load that it belongs to.
        seed: of the sampler, for servers that have one.
    """

    prompt: str | tuple[int, ...]
    max_tokens: int
    settings: OpenAiLoad
    seed: int
    temperature: float = 0.0

    @property
    def num_prompt_tokens(self) -> int | None:
        """Length of a prompt of token ids; a text's is the server's to count."""
        return None if isinstance(self.prompt, str) else len(self.prompt)

    def body(self) -> Mapping[str, Any]:
        """Return the JSON body, which asks for a stream and for the server's count of tokens."""
        settings = self.settings
        body: dict[str, Any] = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        prompt = self.prompt if isinstance(self.prompt, str) else list(self.prompt)
        if settings.path.endswith("/chat/completions"):
            body["messages"] = [{"role": "user", "content": prompt}]
        else:
            body["prompt"] = prompt
        if settings.model:
            body["model"] = settings.model
        return body | settings.body


def requests_of(
    settings: OpenAiLoad, seed: int, num_requests: int, workload: str = ""
) -> tuple[CompletionRequest, ...]:
    """Return the requests of a window; fresh prompts for each seed, equal lengths for all.

    Args:
        settings: lengths and form.
        seed: of the prompts.
        num_requests: how many.
        workload: one of the further workloads; the standard one when empty.
    """
    mix = settings.workloads[workload] if workload else Mix()
    generator = np.random.default_rng([seed, _STREAM])
    requests = []
    for index in range(num_requests):
        scale = 1.0 + settings.length_spread * _SPREAD[index % len(_SPREAD)]
        length = max(1, round(settings.input_tokens * mix.input_ratio * scale))
        prompt: str | tuple[int, ...]
        if settings.num_token_ids:
            prompt = tuple(map(int, generator.integers(settings.num_token_ids, size=length)))
        else:
            prompt = " ".join(_WORDS[i] for i in generator.integers(len(_WORDS), size=length))
        requests.append(
            CompletionRequest(
                prompt=prompt,
                max_tokens=max(2, round(settings.output_tokens * mix.output_ratio * scale)),
                settings=settings,
                seed=int(generator.integers(1 << 31)),
            )
        )
    return tuple(requests)
