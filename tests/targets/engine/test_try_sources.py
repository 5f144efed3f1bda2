"""Whether changed sources are worth a start is found out in the sandbox, as a program."""

from pathlib import Path

import pytest

from arbor.targets.engine.config import EngineTargetConfig
from arbor.targets.engine.server.overlay import FOLDER, editable_sources
from arbor.targets.engine.target import EngineTarget
from arbor.targets.sandbox.sandbox import Outcome, Sandbox

SOURCES = {name: content.decode() for name, content in editable_sources().items()}


def _tried(tmp_path: Path, name: str, text: str) -> Outcome:
    target = EngineTarget(EngineTargetConfig(cache=tmp_path / "cache"))
    worktree = tmp_path / "worktree"
    path = worktree / FOLDER / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (check,) = target.local_checks()
    sandbox = Sandbox(
        worktree, tmp_path / "scratch", tmp_path / "log", environment=check.environment
    )
    return sandbox.run(check.argv)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("scheduler.py", "import", "import sys\nimport"),
        ("native/sampling.cpp", "#include", "// said\n#include"),
    ],
)
def test_a_source_that_imports_or_compiles_is_worth_a_start(
    tmp_path: Path, name: str, old: str, new: str
) -> None:
    text = SOURCES[name]
    assert old in text
    place = text.index(f"\n{old}") + 1
    outcome = _tried(tmp_path, name, text[:place] + new + text[place + len(old) :])
    assert outcome.output == ()
    assert outcome.is_good


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("scheduler.py", "def f(:\n", "SyntaxError"),
        ("scheduler.py", "import nothing_at_all\n", "No module named 'nothing_at_all'"),
        ("native/sampling.cpp", "int f( {\n", "error"),
        ("engine.py", "", "overlay/engine.py may not be replaced"),
    ],
)
def test_one_that_does_not_is_told_why(tmp_path: Path, name: str, text: str, told: str) -> None:
    outcome = _tried(tmp_path, name, text)
    assert outcome.exit_code == 1
    assert told in "\n".join(outcome.output)


def test_every_editable_source_has_a_category_of_the_profile() -> None:
    target = EngineTarget(EngineTargetConfig())
    patchable = target.patchable()
    assert set(patchable) == {f"{FOLDER}/{name}" for name in SOURCES}
    assert set(patchable.values()) <= {
        "attention",
        "kv_cache",
        "linear",
        "norm_activation",
        "sampling",
        "scheduler",
    }
