"""One request to a model and what comes back, in the form that is stored and replayed."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from arbor.core.models import ModelError
from arbor.events.base import canonical_json
from arbor.events.errors import CorruptLogError
from arbor.events.model_calls import CallOutcome
from arbor.events.model_settings import Endpoint, TokenPrice

_MESSAGE_TOKENS = 16
"""More than any chat template adds around a message."""
_REQUEST_TOKENS = 256
_TOOLS_TOKENS = 1024
"""More than providers add to explain the use of tools."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent.

    Attributes:
        messages: the conversation in OpenAI's form.
        tools: what may be called, in OpenAI's form.
        schema: JSON schema of the answer; None for free text.
        may_call: False when the model has to answer now.
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    schema: Mapping[str, Any] | None = None
    may_call: bool = True

    def text(self) -> str:
        """Return the canonical text: equal requests have equal texts, and so equal digests."""
        return canonical_json(
            {
                "may_call": self.may_call,
                "messages": self.messages,
                "schema": self.schema,
                "tools": self.tools,
            }
        )

    def max_prompt_tokens(self) -> int:
        """Return more tokens than the request can have: none is shorter than a byte."""
        added = _REQUEST_TOKENS + _MESSAGE_TOKENS * len(self.messages)
        return len(self.text().encode()) + added + (_TOOLS_TOKENS if self.tools else 0)


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A tool that the model wants called.

    Attributes:
        call_id: the model's name for the call.
        name: the tool.
        arguments: JSON, as the model wrote it.
    """

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        text: the model's words.
        finish_reason: why it stopped, in the provider's word.
        wanted: tools that it wants called.
        refusal: why it will not answer; empty when it does.
        num_prompt_tokens: as the server counted; None when it did not.
        num_completion_tokens: likewise.
    """

    text: str
    finish_reason: str = "stop"
    wanted: tuple[WantedCall, ...] = ()
    refusal: str = ""
    num_prompt_tokens: int | None = None
    num_completion_tokens: int | None = None

    def stored(self) -> str:
        """Return the text that is kept as a blob."""
        return canonical_json(asdict(self))

    @classmethod
    def restored(cls, stored: bytes) -> "Answer":
        """Return the answer of a blob.

        Raises:
            CorruptLogError: it is none.
        """
        try:
            fields = json.loads(stored)
            wanted = tuple(WantedCall(**each) for each in fields.pop("wanted"))
            return cls(wanted=wanted, **fields)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CorruptLogError(f"a recorded reply cannot be read ({error})") from error


@dataclass(frozen=True, slots=True)
class Options:
    """How a request is made.

    Attributes:
        max_tokens: longest reply.
        temperature: None leaves it to the model.
        timeout_s: longest wait for the whole answer.
    """

    max_tokens: int
    temperature: float | None
    timeout_s: float


class CallFailedError(ModelError):
    """One attempt at one model failed.

    Attributes:
        outcome: how.
        detail: what the provider said, without secrets.
        retry_after_s: wait that it asked for.
    """

    def __init__(
        self, outcome: CallOutcome, detail: str, retry_after_s: float | None = None
    ) -> None:
        super().__init__(outcome, detail, retry_after_s)
        self.outcome = outcome
        self.detail = detail
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return f"{self.outcome.replace('_', ' ')}: {self.detail}"

    @property
    def may_be_paid(self) -> bool:
        """Whether the provider may have done, and charged for, the work all the same."""
        return self.outcome in {"timed_out", "cut"}

    @property
    def is_passing(self) -> bool:
        """Whether another attempt may do better."""
        return self.outcome not in {"refused", "rejected"}


class Provider(Protocol):
    """Reaches models."""

    def complete(self, endpoint: Endpoint, options: Options, request: Request) -> Answer:
        """Return the answer to a request; one attempt.

        Raises:
            CallFailedError: there is none.
        """
        ...

    def price(self, endpoint: Endpoint) -> TokenPrice | None:
        """Return what a model costs at most; None when that is unknown."""
        ...
