"""Which vLLM it is, and that it is asked only once."""

import sys
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.vllm.config import VllmTargetConfig
from arbor.targets.vllm.installation import find_command, find_installation


def program(folder: Path) -> Path:
    """Write a program that notes each time it is asked."""
    path = folder / "vllm"
    path.write_text(
        f'#!/bin/sh\necho "$*" >> {folder}/asked\n'
        "case \"$1\" in\n--version) echo 'INFO hello'; echo '0.33.1+cpu' ;;\n"
        "serve) echo '  --max-num-seqs N, --no-enable-x' ;;\nesac\n"
    )
    path.chmod(0o755)
    return path


def config(**options: object) -> VllmTargetConfig:
    return VllmTargetConfig.model_validate({"model": "m"} | options)


def test_a_vllm_is_asked_once(tmp_path: Path) -> None:
    path = program(tmp_path)
    cache = tmp_path / "cache"
    first = find_installation(config(executable=path), cache)
    assert (first.version, first.variables) == ("0.33.1+cpu", None)
    assert first.options == {"max-num-seqs", "no-enable-x"}
    assert find_installation(config(executable=path), cache) == first
    assert (tmp_path / "asked").read_text().splitlines() == [
        "--version",
        "serve --help=all",
        f"-c {'import vllm.envs; print(*vllm.envs.environment_variables)'}",
    ] or len((tmp_path / "asked").read_text().splitlines()) == 2
    # another build of it is asked again
    path.write_text(path.read_text() + "# newer\n")
    find_installation(config(executable=path), cache)
    assert (tmp_path / "asked").read_text().count("--version") == 2


def test_a_broken_cache_costs_time_only(tmp_path: Path) -> None:
    path = program(tmp_path)
    cache = tmp_path / "cache"
    first = find_installation(config(executable=path), cache)
    [kept] = (cache / "vllm").glob("*.json")
    for text in ("no JSON", "{}", '{"version": 1, "options": 2, "variables": 3}'):
        kept.write_text(text)
        assert find_installation(config(executable=path), cache) == first


def test_a_program_that_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "vllm"
    path.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    path.chmod(0o755)
    with pytest.raises(InvalidInputError, match="told no options: broken"):
        find_installation(config(executable=path), tmp_path)


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = Path(sys.executable)
    assert find_command(config(python=python))[1:] == ("-m", "vllm.entrypoints.cli.main")
    with pytest.raises(InvalidInputError, match="give the interpreter"):
        find_command(config(python=tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInputError, match="no vllm in PATH; install vLLM"):
        find_command(config())
    assert find_command(config(executable=program(tmp_path))) == (str(tmp_path / "vllm"),)
    assert find_command(config()) == (str(tmp_path / "vllm"),)
