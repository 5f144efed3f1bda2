"""A model whose words a test writes; it keeps what it was asked."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from arbor.core.models import Message, ModelError, Reply, Role, T, Tool


@dataclass(frozen=True)
class Asked:
    """One call.

    Attributes:
        role: as what the model was asked.
        text: all messages, one after the other.
        action: whose budget pays.
        tools: what it may call.
    """

    role: Role
    text: str
    action: str
    tools: tuple[Tool, ...] = ()

    def call(self, name: str, **arguments: Any) -> str:
        """Return what a tool says."""
        tool = next(each for each in self.tools if each.name == name)
        return tool.run(tool.arguments.model_validate(arguments))


Words = str | BaseModel | ModelError
Script = Callable[[Asked], Words]


@dataclass
class ScriptedModel:
    """Implements ``Model``: what a script says is the reply; errors that it returns are raised."""

    script: Script
    asked: list[Asked] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(
        self,
        role: Role,
        messages: Sequence[Message],
        *,
        action: str,
        schema: type[T] | None = None,
        tools: Sequence[Tool] = (),
    ) -> Reply[T]:
        """Return the script's words in the form that is wanted.

        Raises:
            ModelError: the script says so, or its words have another form.
        """
        text = "\n".join(message.content for message in messages)
        asked = Asked(role, text, action, tuple(tools))
        with self._lock:
            self.asked.append(asked)
        words = self.script(asked)
        if isinstance(words, ModelError):
            raise words
        said = words.model_dump_json() if isinstance(words, BaseModel) else words
        if schema is None:
            return Reply(said, None)
        try:
            return Reply(said, schema.model_validate_json(said))
        except ValidationError as error:
            raise ModelError(
                f"the reply has another form: {error.error_count()} errors"
            ) from error

    def of_role(self, role: Role) -> list[Asked]:
        """Return what it was asked in a role."""
        return [each for each in self.asked if each.role == role]
