"""One table for every benchmark: printed, and written as JSON beside the others."""

import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure.

    Attributes:
        name: what was measured.
        value: the figure.
        unit: its unit; empty for a ratio or a count.
        goal: ``<= 4``, ``>= 0.8`` or ``== 0``; empty when there is none.
        how: on what it was measured.
    """

    name: str
    value: float
    unit: str
    goal: str
    how: str

    @property
    def holds(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        if not self.goal:
            return None
        comparison, limit = self.goal.split()
        return _COMPARISONS[comparison](self.value, float(limit))


def publish(name: str, title: str, rows: Sequence[Row], results: Path = RESULTS) -> int:
    """Print a table and write ``results/<name>.json``; return 1 when a goal is missed."""
    table = Table(title=title, title_justify="left")
    for column in ("what", "value", "unit", "goal", "holds"):
        table.add_column(column, justify="right" if column == "value" else "left")
    words = {None: "", True: "yes", False: "NO"}
    for row in rows:
        table.add_row(row.name, f"{row.value:,.4g}", row.unit, row.goal, words[row.holds])
    Console().print(table)
    results.mkdir(exist_ok=True)
    body = [
        {
            "name": row.name,
            "value": row.value,
            "unit": row.unit,
            "goal": row.goal,
            "holds": row.holds,
            "how": row.how,
        }
        for row in rows
    ]
    (results / f"{name}.json").write_text(json.dumps(body, indent=2) + "\n")
    return 0 if all(row.holds is not False for row in rows) else 1
