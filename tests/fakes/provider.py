"""Models without a network: answers by a script, and what they were asked."""

import threading
from collections.abc import Callable, Sequence

from arbor.actors.models.request import Answer, CallFailedError, Options, Request
from arbor.events.model_settings import Endpoint, TokenPrice

PRICE = TokenPrice(prompt_usd_per_million_tokens=1.0, completion_usd_per_million_tokens=10.0)
Step = Answer | CallFailedError
Chooser = Callable[[Endpoint, Request], Step]


def answer(text: str, num_prompt_tokens: int = 10, num_completion_tokens: int = 5) -> Answer:
    """Return an answer with a count of tokens."""
    return Answer(
        text=text,
        num_prompt_tokens=num_prompt_tokens,
        num_completion_tokens=num_completion_tokens,
    )


class ScriptedProvider:
    """Answers in order, the last one for ever; or by what chooses. Safe for threads.

    Attributes:
        asked: models and requests so far.
        options: how they were asked.
    """

    def __init__(self, script: Sequence[Step] | Chooser, price: TokenPrice | None = PRICE) -> None:
        self.asked: list[tuple[str, Request]] = []
        self.options: list[Options] = []
        self._script = script
        self._price = price
        self._lock = threading.Lock()

    def complete(self, endpoint: Endpoint, options: Options, request: Request) -> Answer:
        """Return or raise the next step."""
        with self._lock:
            self.asked.append((endpoint.model, request))
            self.options.append(options)
            script = self._script
            if callable(script):
                step = script(endpoint, request)
            else:
                step = script[min(len(self.asked), len(script)) - 1]
        if isinstance(step, CallFailedError):
            raise step
        return step

    def price(self, endpoint: Endpoint) -> TokenPrice | None:
        """Return the price in the settings, else the one for all."""
        return endpoint.price or self._price
