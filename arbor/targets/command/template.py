"""``${name}`` in words, files and variables: strict, and a value never becomes several words."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from arbor.events.errors import InvalidInputError
from arbor.events.types import Scalar

# $${name} stands for the text ${name}
_PLACEHOLDER = re.compile(r"\$(\$)?\{([^}]*)\}")
_JSON_ENDINGS = (".json", ".yaml", ".yml")

Values = Mapping[str, Scalar]


def placeholders(text: str) -> frozenset[str]:
    """Return the names that a text asks for."""
    return frozenset(found[2] for found in _PLACEHOLDER.finditer(text) if not found[1])


def render(text: str, values: Values, write: Callable[[Scalar], str] | None = None) -> str:
    """Return a text with its placeholders filled in, once: values are not looked into.

    Args:
        text: the text.
        values: by name.
        write: text of a value; ``plain`` by default.

    Raises:
        InvalidInputError: a name is unknown.
    """
    write = plain if write is None else write

    def fill(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        if found[2] not in values:
            known = ", ".join(sorted(values))
            raise InvalidInputError(f"unknown name ${{{found[2]}}} in {text!r}; known: {known}")
        return write(values[found[2]])

    return _PLACEHOLDER.sub(fill, text)


def plain(value: Scalar) -> str:
    """Return a value as servers read it: true and false in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def render_file(name: str, text: str, values: Values) -> str:
    """Return a file's text; in JSON and YAML every value is written as JSON, quotes included.

    Raises:
        InvalidInputError: a name is unknown.
    """
    is_json = Path(name).suffix in _JSON_ENDINGS
    return render(text, values, json.dumps if is_json else plain)
