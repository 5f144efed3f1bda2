"""Markdown from values: foreign text stays text."""

from collections.abc import Iterator, Sequence


def text(foreign: str) -> str:
    """Return foreign text that is only text in Markdown, and in a table."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+!|<>~&$" else c for c in _line(foreign))


def code(foreign: str) -> str:
    """Return foreign text for between backticks, also in a table."""
    return _line(foreign).replace("`", "'").replace("|", "\\|")


def row(cells: Sequence[str]) -> str:
    """Return a row of a table; cells are Markdown already."""
    return f"| {' | '.join(cells)} |"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; cells are Markdown already."""
    yield row(header)
    yield "|" + "---|" * len(header)
    yield from map(row, rows)


def _line(foreign: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in foreign).split())
