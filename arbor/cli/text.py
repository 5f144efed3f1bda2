"""Numbers and foreign text as people read them, safe for a terminal."""

from collections.abc import Sequence

from arbor.events.types import Edit, Effect

_SHORT_COMMIT = 10


def one_line(text: str, limit: int = 200) -> str:
    """Return foreign text as one printable line: no control characters, no escape sequences."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(printable.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def interval(effect: Effect) -> str:
    """Return an effect as ``1.243x [1.204, 1.283]``."""
    return f"{effect.ratio:.3f}x [{effect.low:.3f}, {effect.high:.3f}]"


def edits(changes: Sequence[Edit]) -> str:
    """Return edits as ``key=value, key=value``."""
    return one_line(", ".join(f"{edit.key}={edit.value}" for edit in changes))


def commit(digest: str | None) -> str:
    """Return the beginning of a commit's hash."""
    return (digest or "")[:_SHORT_COMMIT]
