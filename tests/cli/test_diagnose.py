"""`arbor diagnose`: a cause with its lines for people and machines, mistakes in one line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from arbor.cli.main import app

LOG = """INFO 01-02 10:00:00 [a.py:1] starting
torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def _run(*words: object) -> Result:
    return CliRunner().invoke(app, ["diagnose", *(str(word) for word in words)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text(LOG)
    return path


def test_people_read_cause_fault_remedy_and_lines(log: Path) -> None:
    done = _run(log)
    assert done.exit_code == 0
    words = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "oom_runtime (oom, framework layer)" in words["cause"]
    assert "the idea itself is not refuted" in words["fault"]
    assert words["remedy"]
    assert "line 2: torch.OutOfMemoryError" in words["evidence"]


def test_machines_read_one_object(log: Path) -> None:
    found = json.loads(_run(log, "--json").stdout)
    assert found["cause"] == "oom_runtime"
    assert found["cause_group"] == "oom"
    assert found["blames_idea"] is False
    assert found["evidence"][0]["line"] == 2


def test_the_end_of_the_program_is_told_by_options(tmp_path: Path) -> None:
    path = tmp_path / "quiet.log"
    path.write_text("INFO decoding\n")
    assert json.loads(_run(path, "--json", "--signal", 11).stdout)["cause"] == "memory_fault"
    assert json.loads(_run(path, "--json", "--exit-code", 139).stdout)["cause"] == "memory_fault"
    empty = json.loads(_run(path, "--json").stdout)
    assert (empty["cause"], empty["fault"]) == ("unknown", "unknown")


@pytest.mark.parametrize("words", [("none.log",), (".",), ("{log}", "--signal", "0")])
def test_mistakes_are_one_line(words: tuple[str, ...], log: Path) -> None:
    done = _run(*(word.replace("{log}", str(log)) for word in words))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
