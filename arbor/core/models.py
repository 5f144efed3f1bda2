"""What a language model is to those who ask it: roles, messages, tools, replies, errors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from arbor.events.errors import ArborError
from arbor.events.model_settings import ModelRole
from arbor.events.types import Value

Role = ModelRole
"""What a model is asked as; each role may have a model of its own."""
T = TypeVar("T", bound=BaseModel)


class ModelError(ArborError):
    """A model did not answer, or not with anything of use."""


class BudgetExhaustedError(ModelError):
    """The call could cost more than is left; it was not made."""


class ModelRefusedError(ModelError):
    """The model, or its provider's filter, declined to answer."""


class ModelUnavailableError(ModelError, TimeoutError):
    """No model of the role answered, with all repetitions and fallbacks."""


class ReplyInvalidError(ModelError, ValueError):
    """A model answered, but not in the form that was asked for, repairs included."""


class RecordedReplyMissingError(ModelError, LookupError):
    """Replies are served from a log, and it holds none for this prompt."""


class Message(Value):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a model may have done while it answers.

    Attributes:
        name: what it is called.
        description: what it does, for the model.
        arguments: their form.
        run: does it and returns what the model is told.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that was called, and what it said."""

    name: str
    arguments: str
    result: str


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """What a model answered.

    Attributes:
        text: its words.
        value: the words in the form that was asked for; None when none was.
        tool_calls: tools that were called on the way, in order.
        tokens_in: tokens of all prompts on the way, as the provider counted them.
        tokens_out: tokens of all replies on the way.
        cost_usd: what all of it cost; None when a price is unknown.
    """

    text: str
    value: T | None
    tool_calls: tuple[ToolCall, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None


class Model(Protocol):
    """Answers; every call is an event, and is paid before it is made."""

    def ask(
        self,
        role: Role,
        messages: Sequence[Message],
        *,
        action: str,
        schema: type[T] | None = None,
        tools: Sequence[Tool] = (),
    ) -> Reply[T]:
        """Return the answer of the role's model.

        Args:
            role: as what it is asked.
            messages: the conversation so far.
            action: action that it is about and whose budget pays; empty for none.
            schema: form that the answer must have.
            tools: what may be called on the way.

        Raises:
            BudgetExhaustedError: the call could cost more than is left.
            ModelRefusedError: the model declined.
            ModelUnavailableError: nothing answered, or the role has no model.
            ReplyInvalidError: the answer has not the form that was asked for.
            RecordedReplyMissingError: replies come from a log that has none for this prompt.
        """
        ...
