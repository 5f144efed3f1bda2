"""Commands of a campaign file: words with placeholders, or a line for the shell when asked."""

import shlex
from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from arbor.events.types import Scalar, Value
from arbor.targets.command.template import Values, placeholders, plain, render
from arbor.targets.secrets import is_secret_name


def _as_text(value: Any) -> Any:
    """Return a number as YAML wrote it; a bare yes, no, on or off needs quotes."""
    if isinstance(value, bool):
        # pydantic makes a line of a ValueError alone
        raise ValueError(  # noqa: TRY004
            f"{value} is no word; put on, off, yes, no, true and false in quotes"
        )
    return str(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_as_text)]


class Conditional(Value):
    """Words that depend on a knob."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    when: str
    """Name of the knob."""
    is_value: Scalar = Field(default=True, alias="is")
    """The words stand when the knob has this value."""
    then: tuple[Text, ...]
    otherwise: tuple[Text, ...] = ()

    def words(self, values: Values) -> tuple[str, ...]:
        """Return the words for the knob's value."""
        found = values[self.when]
        is_met = found == self.is_value and isinstance(found, bool) == isinstance(
            self.is_value, bool
        )
        return self.then if is_met else self.otherwise


class Command(Value):
    """A program and its words. No shell sees them unless ``shell`` says so."""

    command: tuple[Text | Conditional, ...] | str
    """Words, or a line that is split into words like a shell would; ``${name}`` is filled in
    after that, so a value with spaces stays one word."""
    shell: bool = False
    """Give the line to ``/bin/sh``; placeholders become variables of the shell, never text."""
    env: dict[str, Text] = Field(default_factory=dict)
    """Variables; one whose value comes out empty is not set."""

    @model_validator(mode="after")
    def _is_runnable(self) -> Self:
        if not self.command:
            raise ValueError("the command is empty; write a program and its arguments")
        if self.shell and not isinstance(self.command, str):
            raise ValueError("shell: true needs the command as one line of text")
        if isinstance(self.command, str) and not self.shell:
            try:
                shlex.split(self.command)
            except ValueError as error:
                raise ValueError(f"the command cannot be split into words: {error}") from error
        for name in self.env:
            if is_secret_name(name):
                raise ValueError(f"variable {name} looks like a secret's, which are not passed")
        return self

    def names(self) -> frozenset[str]:
        """Return all names that the command asks for."""
        texts = [*self.env.values()]
        named: set[str] = set()
        for word in (self.command,) if isinstance(self.command, str) else self.command:
            if isinstance(word, Conditional):
                named.add(word.when)
                texts += [*word.then, *word.otherwise]
            else:
                texts.append(word)
        return frozenset(named).union(*map(placeholders, texts))

    def program(self) -> str | None:
        """Return the program when it is known before anything starts."""
        first = next(iter(self._parts()), None)
        is_known = isinstance(first, str) and not placeholders(first) and not self.shell
        return first if isinstance(first, str) and is_known else None

    def argv(self, values: Values) -> list[str]:
        """Return the words.

        Raises:
            InvalidInputError: a name is unknown.
        """
        if self.shell:
            return ["/bin/sh", "-c", str(self.command)]
        words: list[str] = []
        for part in self._parts():
            texts = part.words(values) if isinstance(part, Conditional) else (part,)
            words += [render(text, values) for text in texts]
        return words

    def environment(self, values: Values) -> dict[str, str]:
        """Return the variables.

        Raises:
            InvalidInputError: a name is unknown.
        """
        env = {name: render(text, values) for name, text in self.env.items()}
        if self.shell:
            env = {name: plain(value) for name, value in values.items()} | env
        return {name: text for name, text in env.items() if text}

    def _parts(self) -> Iterator[str | Conditional]:
        if isinstance(self.command, str):
            yield from (self.command,) if self.shell else shlex.split(self.command)
        else:
            yield from self.command


class TimedCommand(Command):
    """A command that ends by itself."""

    limit_s: float = Field(default=600.0, gt=0)
    """It is ended after this."""
