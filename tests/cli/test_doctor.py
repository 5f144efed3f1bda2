"""The doctor names what is missing and how to get it."""

import pytest
from typer.testing import CliRunner

from arbor.cli import checks
from arbor.cli.main import app


def test_this_machine() -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    for name in (
        "python",
        "ray",
        "torch",
        "compiler",
        "git",
        "cores",
        "memory",
        "disk",
        "processor",
        "limits",
        "amd",
    ):
        assert f" {name}" in done.stdout
    assert "AMD path: formats from documentation, not confirmed on hardware" in done.stdout


def test_missing_compiler_fails_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nonexistent/g++")
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    line = next(line for line in done.stdout.splitlines() if "compiler" in line)
    assert line.startswith("missing")
    assert "apt-get install g++" in line


def test_every_problem_has_a_fix() -> None:
    for check in checks.all_checks():
        assert check.level is not checks.Level.MISSING or check.fix
