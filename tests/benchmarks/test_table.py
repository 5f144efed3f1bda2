"""A benchmark's rows: aligned for people, a list for machines, an exit code for both."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.table import Row, at_least, at_most, publish, table

ROWS = (
    Row("throughput", 1234.567, "tok/s", how="10 windows"),
    at_least("gain", 7.6309, "ratio", 5.0, "10 windows"),
    at_most("overhead", 0.031, "ratio", 0.02, "10 windows"),
)


def test_goals_are_held_against_their_bounds() -> None:
    assert [row.holds for row in ROWS] == [None, True, False]
    assert [row.goal for row in ROWS] == [None, ">= 5", "<= 0.02"]
    assert at_least("edge", 5.0, "ratio", 5.0, "").holds
    assert at_most("edge", 5.0, "ratio", 5.0, "").holds


def test_columns_are_aligned_and_the_method_is_said_once() -> None:
    header, first, second, third, how = table(ROWS).splitlines()
    assert how == "10 windows"
    unit = header.index("unit")
    assert [line[unit:].split()[0] for line in (first, second, third)] == [
        "tok/s",
        "ratio",
        "ratio",
    ]
    assert "1,235" in first
    assert second.endswith("holds")
    assert third.endswith("MISSED")
    other = table((*ROWS, Row("seconds", 3.0, "s", how="a clock")))
    *_, seconds, first_note, second_note = other.splitlines()
    assert seconds.endswith("[2]")
    assert (first_note, second_note) == ("[1] 10 windows", "[2] a clock")


def test_published_rows_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish("trial", ROWS, tmp_path / "results") == 1
    assert "MISSED" in capsys.readouterr().out
    rows = json.loads((tmp_path / "results" / "trial.json").read_text())
    assert rows == [asdict(row) for row in ROWS]
    assert set(rows[0]) == {"name", "value", "unit", "goal", "holds", "how"}
    assert publish("trial", ROWS[:2], tmp_path / "results") == 0
