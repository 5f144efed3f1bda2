"""One format for all benchmarks: rows with goals, an aligned table, a JSON file of results."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        name: what was measured.
        value: the figure.
        unit: its unit.
        goal: the bound that it is held against, such as ``>= 5``; None when it only informs.
        holds: whether it keeps to the goal; None without one.
        how: how it was measured.
    """

    name: str
    value: float
    unit: str
    goal: str | None = None
    holds: bool | None = None
    how: str = ""


def at_least(name: str, value: float, unit: str, bound: float, how: str) -> Row:
    """Return a figure that should not be smaller than a bound."""
    return Row(name, value, unit, f">= {bound:.3g}", value >= bound, how)


def at_most(name: str, value: float, unit: str, bound: float, how: str) -> Row:
    """Return a figure that should not be larger than a bound."""
    return Row(name, value, unit, f"<= {bound:.3g}", value <= bound, how)


def table(rows: Sequence[Row]) -> str:
    """Return the rows with aligned columns, and below them how they were measured, said once.

    Where rows differ in how, each names its note.
    """
    verdicts = {True: "holds", False: "MISSED", None: ""}
    hows = list(dict.fromkeys(row.how for row in rows if row.how))
    notes = {how: f"[{number}]" for number, how in enumerate(hows, start=1)}
    is_shared = len(hows) == 1 and all(row.how for row in rows)
    lines = [("", "value", "unit", "goal", "", "")]
    lines += [
        (
            row.name,
            _figure(row.value),
            row.unit,
            row.goal or "",
            verdicts[row.holds],
            "" if is_shared else notes.get(row.how, ""),
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(6)]
    text = []
    for name, value, *rest in lines:
        cells = [f"{name:{widths[0]}}", f"{value:>{widths[1]}}"]
        cells += [f"{cell:{width}}" for cell, width in zip(rest, widths[2:], strict=True)]
        text.append("  ".join(cells))
    text += hows if is_shared else [f"{notes[how]} {how}" for how in hows]
    return "\n".join(line.rstrip() for line in text)


def _figure(value: float) -> str:
    """Return a figure with three digits or more, never in powers of ten above one."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.4g}"


def publish(name: str, rows: Sequence[Row], folder: Path = RESULTS) -> int:
    """Print the rows and write ``<folder>/<name>.json``, a list of them.

    Returns:
        1 when a goal is missed, else 0: the exit code of the benchmark.
    """
    print(table(rows), flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps([asdict(row) for row in rows], indent=2) + "\n"
    (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return 1 if any(row.holds is False for row in rows) else 0
