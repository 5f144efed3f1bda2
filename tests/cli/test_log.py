"""`arbor log verify` tells a whole log from a damaged one."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from arbor.cli.main import app
from arbor.events.layout import Layout
from arbor.events.parquet_log import ParquetLog
from tests.contracts.event_log import draft


def verify(*words: object) -> Result:
    return CliRunner().invoke(app, ["log", "verify", *map(str, words)])


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    log = ParquetLog.open(tmp_path / "log", "c1")
    log.append([draft(1), draft(2)])
    log.append([draft(3)])
    log.close()
    return tmp_path


def test_a_whole_log(campaign: Path) -> None:
    done = verify(campaign)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("3 events in 2 commits whole")
    assert verify(campaign / "log").stdout == done.stdout
    head = done.stdout.splitlines()[-1].removeprefix("head: ")
    assert verify(campaign, "--against", head).exit_code == 0
    Layout(campaign / "log").tail_path(3).unlink()
    assert verify(campaign).exit_code == 0
    cut = verify(campaign, "--against", head)
    assert cut.exit_code == 1
    assert "cut or rewritten" in cut.stderr


def test_damage_is_named(campaign: Path) -> None:
    path = Layout(campaign / "log").tail_path(3)
    path.write_bytes(bytes(path.stat().st_size))
    done = verify(campaign)
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr
    assert "2 events in 1 commits hang together" in done.stdout


def test_mistakes(tmp_path: Path) -> None:
    done = verify(tmp_path)
    assert done.exit_code == 2
    assert "no event log in" in done.stderr
