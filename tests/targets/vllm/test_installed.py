"""The catalog's options beside those that a program named vllm tells."""

import sys
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.vllm.installed import (
    installed_options,
    installed_variables,
    unknown_options,
    unknown_variables,
)
from tests.targets.vllm.test_validation import entry

HELP = """usage: vllm serve [model_tag] [options]

CacheConfig:
  --block-size {1,8,16}
  --enable-prefix-caching, --no-enable-prefix-caching
                        Whether to enable prefix caching; see --block-size.
  --compilation-config COMPILATION_CONFIG, -cc COMPILATION_CONFIG
"""


def program(folder: Path, text: str, code: int = 0) -> str:
    path = folder / "vllm"
    path.write_text(
        f"#!/bin/sh\n[ \"$*\" = 'serve --help=all' ] && cat <<'END'\n{text}\nEND\n"
        f"echo broken >&2\nexit {code}\n"
    )
    path.chmod(0o700)
    return str(path)


def test_options_of_the_help(tmp_path: Path) -> None:
    assert installed_options(program(tmp_path, HELP)) == frozenset(
        ("block-size", "enable-prefix-caching", "no-enable-prefix-caching", "compilation-config")
    )


def test_no_such_program(tmp_path: Path) -> None:
    assert installed_options(str(tmp_path / "vllm")) is None


@pytest.mark.parametrize(("text", "code"), [("", 0), (HELP, 1)])
def test_a_program_that_fails(tmp_path: Path, text: str, code: int) -> None:
    with pytest.raises(InvalidInputError, match="told no options: broken; run it by hand"):
        installed_options(program(tmp_path, text, code))


def test_unknown_options_of_args_only() -> None:
    known = entry("known", space={}, edits={"args.compilation-config.mode": 3, "env.SOME": "1"})
    unknown = entry("unknown", space={}, edits={"args.swap-space": 4})
    [found] = unknown_options([known, unknown], frozenset({"compilation-config"}))
    assert "entry unknown: the installed vLLM has no --swap-space" in found


def test_variables_of_the_programs_own_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("print('a greeting')\n")
    (package / "envs.py").write_text("environment_variables = {'VLLM_A': 1, 'VLLM_B': 2}\n")
    path = tmp_path / "vllm"
    path.write_text(f"#!{sys.executable}\n")
    path.chmod(0o700)
    assert installed_variables(str(path)) is None
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    assert installed_variables(str(path)) == frozenset({"VLLM_A", "VLLM_B"})


def test_variables_that_cannot_be_told(tmp_path: Path) -> None:
    assert installed_variables(str(tmp_path / "vllm")) is None
    assert installed_variables(program(tmp_path, HELP)) is None
    path = tmp_path / "vllm"
    path.write_bytes(b"\x7fELF")
    assert installed_variables(str(path)) is None


def test_unknown_variables_in_vllms_name_only() -> None:
    edits = {"env.VLLM_A": "1", "env.VLLM_GONE": "1", "env.OMP_NUM_THREADS": "1"}
    [found] = unknown_variables([entry("old", space={}, edits=edits)], frozenset({"VLLM_A"}))
    assert "entry old: the installed vLLM does not read VLLM_GONE" in found
