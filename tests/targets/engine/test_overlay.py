"""A workspace's own sources run in front of the engine's: allowed and changed ones only."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from arbor.targets.base import ServerFailedError
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.server.errors import (
    EXIT_BAD_OVERLAY,
    EXIT_CRASHED,
    EXIT_NO_COMPILER,
    OverlayError,
)
from arbor.targets.engine.server.overlay import (
    EDITABLE,
    FOLDER,
    changed_sources,
    digest_of,
    editable_sources,
    source_of,
)
from arbor.targets.engine.target import EngineTarget, EngineTargetConfig
from arbor.targets.sandbox.isolation import isolation
from tests.contracts.target import Bench

_CHOICE = "return int(row.argmax())"


@pytest.fixture(scope="module")
def bench(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    path = tmp_path_factory.mktemp("overlay")
    target = EngineTarget(
        EngineTargetConfig(model=tiny_model, cache=path / "cache", start_limit_s=90.0)
    )
    yield Bench(target, path)
    target.close()


def _serve(
    bench: Bench, name: str, source: str, *, is_quick: bool = True, **switches: Any
) -> AbstractContextManager[EngineServer]:
    """Start a commit of one source, with switches of one section as ``kernel=(name, value)``."""
    target = bench.target
    assert isinstance(target, EngineTarget)
    files = {f"{FOLDER}/{name}": source.encode()}
    if switches:
        lines = [f"{key}: {{{pair[0]}: {pair[1]}}}" for key, pair in switches.items()]
        files["serve.yaml"] = "\n".join(lines).encode()
    commit = bench.workspace.commit_files(bench.root, files, "Change a source")
    worktree = bench.workspace.checkout(commit, bench.path / "trees" / commit)
    start = target.serve_quickly if is_quick else target.serve
    return start(worktree, bench.path / "logs" / f"{commit}.log")


def _greedy(server: EngineServer) -> list[int]:
    body = {"prompt": [1, 2, 3], "max_tokens": 6, "temperature": 0.0, "ignore_eos": True}
    answer = server.ask("benchmark", "POST", "/v1/completions", body)
    tokens: list[int] = answer["choices"][0]["token_ids"]
    return tokens


@pytest.mark.parametrize("is_quick", [False, True], ids=["fresh", "forked"])
def test_a_changed_sampler_runs_and_is_told(bench: Bench, *, is_quick: bool) -> None:
    sampler = editable_sources()["sampler.py"].decode()
    comment = sampler + "# a comment changes the file and no token\n"
    with _serve(bench, "sampler.py", comment, is_quick=is_quick) as server:
        expected = _greedy(server)
        resolved = server.resolved_config()
    assert resolved["overlay.sampler.py"] == digest_of(comment.encode())
    assert sampler.count(_CHOICE) == 1
    changed = sampler.replace(_CHOICE, _CHOICE.replace("argmax", "argmin"))
    with _serve(bench, "sampler.py", changed, is_quick=is_quick) as server:
        assert _greedy(server) != expected
        resolved = dict(server.resolved_config())
    assert resolved.pop("overlay.sampler.py") == digest_of(changed.encode())
    assert resolved == bench.target.baseline_config()


def test_copies_of_the_engine_s_own_sources_change_nothing(bench: Bench) -> None:
    worktree = bench.workspace.checkout(bench.root, bench.path / "trees" / "root")
    folder = worktree / FOLDER
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == set(EDITABLE) == set(editable_sources())
    assert changed_sources(folder) == {}
    assert source_of("native/operators.cpp").is_file()
    assert changed_sources(worktree / "nowhere") == {}


@pytest.mark.parametrize(
    ("name", "source", "line"),
    [
        ("scheduler.py", "def broken(:\n", "SyntaxError: invalid syntax"),
        ("decoder.py", "nothing.at_all\n", "NameError: name 'nothing' is not defined"),
    ],
)
@pytest.mark.parametrize("is_quick", [False, True], ids=["fresh", "forked"])
def test_a_broken_source_is_an_outcome_with_its_traceback(
    bench: Bench, name: str, source: str, line: str, *, is_quick: bool
) -> None:
    with (
        pytest.raises(ServerFailedError) as caught,
        _serve(bench, name, source, is_quick=is_quick),
    ):
        pytest.fail("it started")
    assert caught.value.phase == "start"
    assert caught.value.exit_code == EXIT_CRASHED
    assert caught.value.log_tail[-1] == line
    assert "Traceback (most recent call last):" in caught.value.log_tail
    assert any(f'{FOLDER}/{name}", line 1' in told for told in caught.value.log_tail)


def test_a_broken_native_source_is_an_outcome(bench: Bench) -> None:
    with (
        pytest.raises(ServerFailedError) as caught,
        _serve(
            bench,
            "native/operators.cpp",
            "#error unfinished\n",
            kernel=("operators", "cpp"),
            framework=("kv_cache", "preallocated"),
        ),
    ):
        pytest.fail("it started")
    assert caught.value.exit_code == EXIT_NO_COMPILER
    assert "cannot build operators.cpp" in caught.value.log_tail[-1]
    assert "unfinished" in caught.value.log_tail[-1]


@pytest.mark.parametrize("name", ["http_api.py", "settings.py", "native/build.py", "new.py"])
def test_a_source_that_may_not_be_replaced_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    with pytest.raises(OverlayError, match=f"^{FOLDER}/{name} may not be replaced; allowed: at"):
        changed_sources(tmp_path)


def test_a_server_refuses_with_one_line(bench: Bench) -> None:
    with (
        pytest.raises(ServerFailedError) as caught,
        _serve(bench, "engine.py", "", is_quick=False),
    ):
        pytest.fail("it started")
    assert caught.value.exit_code == EXIT_BAD_OVERLAY
    (line,) = caught.value.log_tail
    assert line.startswith("error: overlay/engine.py may not be replaced; allowed: attention.py,")


@pytest.mark.skipif(isolation() == "plain", reason="this system allows no user namespaces")
@pytest.mark.parametrize("is_quick", [False, True], ids=["fresh", "quick"])
def test_what_a_patch_brings_runs_in_a_jail(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_quick: bool
) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", "planted-secret-value")
    outside = tmp_path / "outside.txt"
    lines = (
        "import os as _os",
        "def _attempt(act):",
        "    try:",
        "        act()",
        "        print('escaped')",
        "    except OSError as error:",
        "        print('held:', error.strerror)",
        f"_attempt(lambda: open({str(outside)!r}, 'w'))",
        "_attempt(lambda: open(f'/proc/{_os.getppid()}/environ').read())",
        f"_attempt(lambda: open('/proc/{os.getpid()}/environ').read())",
    )
    sampler = editable_sources()["sampler.py"].decode() + "\n".join(lines) + "\n"
    with _serve(bench, "sampler.py", sampler, is_quick=is_quick) as server:
        assert _greedy(server)
        told = [line for line in server.child.log_tail() if line.startswith(("escaped", "held"))]
    assert told == ["held: Read-only file system", *["held: Permission denied"] * 2]
    assert not outside.exists()
