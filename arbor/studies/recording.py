"""A study's directory: raw events as they happen, then the summary, the table and the plot."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from arbor.events.errors import InvalidInputError

EVENTS, SUMMARY, TABLE, PLOT = "events.jsonl", "summary.json", "table.txt", "plot.svg"


class StudyDirectory:
    """Writes what a study saw; an existing study is never overwritten.

    Attributes:
        path: the directory.
    """

    def __init__(self, path: Path) -> None:
        """Make the directory.

        Raises:
            InvalidInputError: it holds a study already.
        """
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        if (path / EVENTS).exists():
            raise InvalidInputError(f"{path} holds a study already; choose another --dir")
        self._events = (path / EVENTS).open("w", encoding="utf-8")

    def record(self, kind: str, **fields: Any) -> None:
        """Append one event."""
        self._events.write(json.dumps({"kind": kind, **fields}, allow_nan=False) + "\n")

    def finish(self, summary: Mapping[str, Any], table: str, plot: str) -> None:
        """Write what the events amount to."""
        text = json.dumps(summary, indent=2, allow_nan=False)
        (self.path / SUMMARY).write_text(text + "\n", encoding="utf-8")
        (self.path / TABLE).write_text(table + "\n", encoding="utf-8")
        (self.path / PLOT).write_text(plot, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._events.close()


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as columns, the first row being their names; numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [f"{row[0]:{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
