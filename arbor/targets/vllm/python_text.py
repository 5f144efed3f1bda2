"""Values in the form that Python prints them, read without running anything."""

import ast
import re
from typing import Any

_ENUM = re.compile(r"<(\w+)\.(\w+): ('[^']*'|\"[^\"]*\"|-?\d+|\([^()]*\))>")
_OPEN, _CLOSE = "([{<", ")]}>"


def parse_value(text: str) -> Any:
    """Return the value of a printed literal; a text that is none stays a text.

    ``<Mode.NAME: 3>`` gives the tuple of its spellings ``("NAME", 3)``.
    """
    text = text.strip()
    literal = _ENUM.sub(lambda found: f"({found[2]!r}, {found[3]})", text)
    try:
        return ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    if text.startswith("{") and text.endswith("}"):
        return _mapping(text[1:-1])
    inner = re.fullmatch(r"\w+\((.*)\)", text, re.DOTALL)
    if inner is not None and (fields := parse_fields(inner[1])):
        return fields
    return text


def parse_fields(text: str) -> dict[str, Any]:
    """Return the fields of ``name=value, other=value``; commas within brackets do not count."""
    found: dict[str, Any] = {}
    for part in _split(text, ","):
        name, equals, value = part.partition("=")
        if equals and name.strip().isidentifier():
            found[name.strip()] = parse_value(value)
    return found


def _mapping(text: str) -> dict[str, Any]:
    """Return a printed dictionary of which some values are no literals."""
    found: dict[str, Any] = {}
    for part in _split(text, ","):
        pieces = _split(part, ":")
        if len(pieces) > 1:
            found[str(parse_value(pieces[0]))] = parse_value(":".join(pieces[1:]))
    return found


def _split(text: str, at: str) -> list[str]:
    """Split where no bracket and no quote is open."""
    parts, start, depth, quote = [], 0, 0, ""
    for place, sign in enumerate(text):
        if quote:
            if sign == quote and text[place - 1] != "\\":
                quote = ""
        elif sign in "'\"":
            quote = sign
        elif sign in _OPEN:
            depth += 1
        elif sign in _CLOSE:
            depth = max(depth - 1, 0)
        elif sign == at and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return [part for part in (p.strip() for p in parts) if part]
