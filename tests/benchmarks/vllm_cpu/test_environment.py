"""The maker of vLLM's environment, as far as that goes without a download."""

import importlib.metadata
import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from benchmarks.vllm_cpu import environment
from benchmarks.vllm_cpu.environment import (
    ALIAS_VERSION,
    STAMP,
    EnvironmentFailedError,
    is_made,
    main,
    make,
    require_tools,
)


def test_only_a_finished_environment_of_this_version_counts(tmp_path: Path) -> None:
    assert not is_made(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    for version, counts in (("0.31.0+cpu", False), (ALIAS_VERSION, True)):
        (tmp_path / STAMP).write_text(json.dumps({"vllm": version}))
        assert is_made(tmp_path) is counts
    (tmp_path / STAMP).write_text("{")
    assert not is_made(tmp_path)


def test_a_complete_environment_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    (tmp_path / STAMP).write_text(json.dumps({"vllm": ALIAS_VERSION}))
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path} is complete\n"


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").touch()
    with pytest.raises(EnvironmentFailedError, match="holds other files; name an empty folder"):
        make(tmp_path)


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailedError, match="apt-get install g"):
        require_tools(tmp_path)


def test_the_name_that_vllm_asks_for_is_found_and_can_be_taken_away(tmp_path: Path) -> None:
    folder = tmp_path / "environment"
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    environment._write_alias(folder)
    code = "import importlib.metadata as m; print(m.version('vllm'), len(m.files('vllm')))"
    done = subprocess.run(
        [str(folder / "bin" / "python"), "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [ALIAS_VERSION, "3"]
    (site,) = folder.glob("lib/python*/site-packages")
    (found,) = importlib.metadata.distributions(name="vllm", path=[str(site)])
    assert found.metadata["Version"] == ALIAS_VERSION


def test_a_vllm_that_does_not_load_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "environment"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    with pytest.raises(EnvironmentFailedError, match=r"does not load in .*; remove it"):
        environment._found(folder)
