"""`arbor study`: each writes its directory and says that stand-ins are no models."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arbor.cli.main import app

FILES = {"events.jsonl", "summary.json", "table.txt", "plot.svg"}


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["study", *arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("arguments", "column"),
    [
        (
            (
                *("bbo", "--group", "synthetic", "--functions", "2", "--evaluations", "8"),
                *("--engine", "random", "--engine", "cma", "--engine", "centaur"),
            ),
            "wins:losses to cma",
        ),
        (("collapse", "--samples", "1"), "above chance"),
        (("feedback", "--evaluations", "3", "--seeds", "1"), "beats tuner"),
    ],
)
def test_a_study_prints_a_table_and_keeps_everything(
    tmp_path: Path, arguments: tuple[str, ...], column: str
) -> None:
    path = tmp_path / "study"
    code, output = _run(*arguments, "--dir", str(path))
    assert code == 0
    assert column in output
    assert "stand-in" in output
    assert {each.name for each in path.iterdir()} == FILES
    assert column in (path / "table.txt").read_text()
    note = json.loads((path / "summary.json").read_text())["note"]
    assert "nothing here reproduces a model's figures" in note
    again, output = _run(*arguments, "--dir", str(path))
    assert again == 2
    assert "holds a study already" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bbo", "--group", "magic"), "no group 'magic'; known: synthetic, physical, bbob"),
        (("collapse", "--samples", "0"), "at least 1"),
        (("collapse", "--writer", "magic"), "no writer 'magic'"),
        (("feedback", "--evaluations", "1"), "at least 2"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    code, output = _run(*arguments, "--dir", str(tmp_path / "study"))
    assert code == 2
    assert message in output
