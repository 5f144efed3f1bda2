"""The doctor names what is missing and how to get it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from arbor.cli import checks
from arbor.cli.main import app


def test_this_machine() -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    for name in ("python", "ray", "torch", "compiler", "git", "cores", "memory", "disk", "amd"):
        assert f" {name}" in done.stdout
    assert "not confirmed on an AMD GPU" in done.stdout


def test_missing_compiler_fails_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nonexistent/g++")
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    line = next(line for line in done.stdout.splitlines() if "compiler" in line)
    assert line.startswith("missing")
    assert "apt-get install g++" in line


def test_amd_devices_from_the_kernels_files(tmp_path: Path) -> None:
    for number, (simds, version) in enumerate(((0, 0), (1216, 90402), (1024, 90500))):
        node = tmp_path / str(number)
        node.mkdir()
        text = f"cpu_cores_count 0\nsimd_count {simds}\ngfx_target_version {version}\n"
        (node / "properties").write_text(text)
    [check] = checks.amd_devices(tmp_path)
    assert "2 devices (gfx942, gfx950)" in check.detail
    [check] = checks.amd_devices(tmp_path / "none")
    assert check.level is checks.Level.NOTE
    assert "none found" in check.detail


def test_every_problem_has_a_fix() -> None:
    for check in checks.all_checks():
        assert check.level is not checks.Level.MISSING or check.fix
