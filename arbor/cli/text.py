"""Numbers and foreign text as people read them, safe for a terminal."""

from collections.abc import Sequence

from arbor.events.types import Edit, Effect

_SHORT_COMMIT = 10
_MINUTE_S = 60.0
_HOUR_S = 3600.0


def one_line(text: str, limit: int = 200) -> str:
    """Return foreign text as one printable line: no control characters, no escape sequences."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(printable.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def duration(seconds: float) -> str:
    """Return seconds as ``8.1 s``, ``4 min 05 s`` or ``3 h 12 min``."""
    if seconds < _MINUTE_S:
        return f"{seconds:.1f} s"
    if seconds < _HOUR_S:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest:02d} s"
    hours, rest = divmod(round(seconds / 60), 60)
    return f"{hours} h {rest:02d} min"


def interval(effect: Effect) -> str:
    """Return an effect as ``1.243x [1.204, 1.283]``."""
    return f"{effect.ratio:.3f}x [{effect.low:.3f}, {effect.high:.3f}]"


def percent(ratio: float) -> str:
    """Return a ratio as a signed change: ``+24.3 %``."""
    return f"{(ratio - 1.0) * 100.0:+.1f} %"


def edits(changes: Sequence[Edit]) -> str:
    """Return edits as ``key=value, key=value``."""
    return one_line(", ".join(f"{edit.key}={edit.value}" for edit in changes))


def commit(digest: str | None) -> str:
    """Return the beginning of a commit's hash."""
    return (digest or "")[:_SHORT_COMMIT]
