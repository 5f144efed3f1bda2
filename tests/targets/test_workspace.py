"""Commits are functions of their content, checkouts are whole, and git obeys nobody else."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.events.errors import InvalidInputError
from arbor.events.types import Edit, Scalar
from arbor.targets.git import WorkspaceError
from arbor.targets.serve_yaml import apply_edits, dump_config, load_config
from arbor.targets.workspace import COMMIT_MARKER, Workspace

BASELINE = "# a comment\nmodel: {threads: 1, fast: off}\nsampler:\n  kind: plain\n"
FAST = (Edit(key="model.fast", value=True),)


def write_files(path: Path) -> None:
    (path / "serve.yaml").write_text(BASELINE)
    (path / "overlay").mkdir()
    (path / "overlay" / "module.py").write_text("x = 1\n")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "workspace")
    made.create(write_files)
    return made


def root_of(workspace: Workspace) -> str:
    root = workspace.root()
    assert root is not None
    return root


def test_create_is_idempotent(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "deep" / "workspace")
    assert workspace.root() is None
    root = workspace.create(write_files, tmp_path / "cache")
    assert workspace.create(lambda _: pytest.fail("written twice")) == root == workspace.root()
    assert workspace.config(root) == {
        "model.threads": 1,
        "model.fast": False,
        "sampler.kind": "plain",
    }


def test_equal_content_gives_equal_commits_whatever_the_user_has_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Workspace(tmp_path / "first")
    expected = first.commit_edits(first.create(write_files), FAST, "Go fast")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname = someone\n[core]\nautocrlf = true\n[commit]\ngpgsign = true\n"
    )
    for name, value in {
        "HOME": str(home),
        "GIT_AUTHOR_NAME": "someone",
        "GIT_DIR": str(tmp_path),
        "TZ": "Asia/Tokyo",
    }.items():
        monkeypatch.setenv(name, value)
    second = Workspace(tmp_path / "second")
    assert second.commit_edits(second.create(write_files), FAST, "Go fast") == expected
    # logs name commits for ever
    assert expected == "ac130284e4fdfc04b9773145d9f3054d35dd1c0f"


def test_an_edit_shows_as_its_own_line_only(workspace: Workspace) -> None:
    root = root_of(workspace)
    commit = workspace.commit_edits(root, FAST, "Go fast")
    changed = [
        line for line in workspace.diff(root, commit).splitlines() if line.startswith(("+ ", "- "))
    ]
    assert changed == ["-  fast: false", "+  fast: true"]
    assert workspace.diff(commit, commit) == ""


def test_new_keys_and_sections_come_last(workspace: Workspace) -> None:
    edits = (Edit(key="model.new", value=2.5), Edit(key="other.key", value="on"))
    commit = workspace.commit_edits(root_of(workspace), edits, "Add")
    assert list(workspace.config(commit)) == [
        "model.threads",
        "model.fast",
        "model.new",
        "sampler.kind",
        "other.key",
    ]
    assert workspace.config(commit)["other.key"] == "on"


def test_a_key_without_a_section_is_refused(workspace: Workspace) -> None:
    with pytest.raises(InvalidInputError, match=r"'threads' is not of the form section\.key"):
        workspace.commit_edits(root_of(workspace), (Edit(key="threads", value=1),), "Bad")


@pytest.mark.parametrize("text", ["- 1", "a: [1, 2]", "a: {b: [1]}", "a: {b: null}", "{", "a: 1"])
def test_what_is_no_configuration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"serve\.yaml"):
        load_config(text)


NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["C"]), max_size=12),
)


@settings(deadline=None)
@given(st.dictionaries(st.builds("{}.{}".format, NAMES, NAMES), VALUES, max_size=8))
def test_configurations_survive_the_file(config: dict[str, Scalar]) -> None:
    text = dump_config(config)
    read = load_config(text.decode())
    assert read == config
    assert {key: type(value) for key, value in read.items()} == {
        key: type(value) for key, value in config.items()
    }
    assert dump_config(apply_edits(read, ())) == text


def test_commits_of_many_at_once_agree(workspace: Workspace) -> None:
    root = root_of(workspace)

    def commit(number: int) -> str:
        edit = Edit(key="model.threads", value=number % 4)
        return workspace.commit_edits(root, (edit,), "Tune")

    with ThreadPoolExecutor(8) as pool:
        commits = list(pool.map(commit, range(24)))
    assert len(set(commits)) == 4
    assert [workspace.config(c)["model.threads"] for c in commits[:4]] == [0, 1, 2, 3]


def test_a_lock_that_a_killed_git_left_is_removed(workspace: Workspace) -> None:
    root = root_of(workspace)
    commit = workspace.commit_edits(root, FAST, "Go fast")
    lock = workspace.path / "refs" / "nodes" / f"{commit}.lock"
    lock.touch()
    seconds_ago = time.time() - 6.0
    os.utime(lock, (seconds_ago, seconds_ago))
    assert workspace.commit_edits(root, FAST, "Go fast") == commit
    assert not lock.exists()


def test_checkout_writes_plain_files_and_keeps_them(workspace: Workspace, tmp_path: Path) -> None:
    root = root_of(workspace)
    path = tmp_path / "trees" / "root"
    workspace.checkout(root, path)
    assert sorted(p.name for p in path.iterdir()) == [COMMIT_MARKER, "overlay", "serve.yaml"]
    (path / "compiled").touch()
    workspace.checkout(root, path)
    assert (path / "compiled").exists()
    commit = workspace.commit_edits(root, FAST, "Go fast")
    workspace.checkout(commit, path)
    assert not (path / "compiled").exists()
    assert load_config((path / "serve.yaml").read_text()) == workspace.config(commit)
    assert list(path.parent.iterdir()) == [path]
    workspace.remove(path)
    workspace.remove(path)
    assert not path.exists()


def test_what_is_no_checkout_is_left_alone(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(WorkspaceError, match="no checkout of Arbor"):
        workspace.checkout(root_of(workspace), tmp_path / "mine")
    with pytest.raises(WorkspaceError, match="no checkout of Arbor"):
        workspace.remove(tmp_path / "mine")
    assert (tmp_path / "mine" / "file").exists()


def test_many_may_check_out_the_same_folder(workspace: Workspace, tmp_path: Path) -> None:
    root = root_of(workspace)
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: workspace.checkout(root, tmp_path / "tree"), range(16)))
    assert paths == {tmp_path / "tree"}
    assert load_config((tmp_path / "tree" / "serve.yaml").read_text()) == workspace.config(root)


LOOP = """
import sys
from pathlib import Path
from arbor.targets.workspace import Workspace
workspace, path = Workspace(Path(sys.argv[1])), Path(sys.argv[2])
print("ready", flush=True)
while True:
    for commit in sys.argv[3:]:
        workspace.checkout(commit, path)
"""


@pytest.mark.parametrize("delay_s", [0.0, 0.011, 0.023])
def test_a_kill_leaves_a_whole_checkout_or_none(
    workspace: Workspace, tmp_path: Path, delay_s: float
) -> None:
    root = root_of(workspace)
    commits = [root, workspace.commit_edits(root, FAST, "Go fast")]
    path = tmp_path / "trees" / "tree"
    arguments = [str(workspace.path), str(path), *commits]
    with subprocess.Popen(
        [sys.executable, "-c", LOOP, *arguments], stdout=subprocess.PIPE
    ) as loop:
        assert loop.stdout is not None
        assert loop.stdout.readline() == b"ready\n"
        time.sleep(delay_s)
        loop.send_signal(signal.SIGKILL)
    if path.exists():
        commit = (path / COMMIT_MARKER).read_text().strip()
        assert load_config((path / "serve.yaml").read_text()) == workspace.config(commit)
        assert (path / "overlay" / "module.py").exists()
    for commit in commits:
        workspace.checkout(commit, path)
        assert load_config((path / "serve.yaml").read_text()) == workspace.config(commit)
    # what the killed one left goes when it is old
    for leftover in path.parent.glob(".*"):
        os.utime(leftover, (1, 1))
    workspace.remove(path)
    assert list(path.parent.iterdir()) == []


def test_branches_and_patches(workspace: Workspace, tmp_path: Path) -> None:
    root = root_of(workspace)
    first = workspace.commit_edits(root, FAST, "Go fast\n\nBecause.")
    second = workspace.commit_edits(first, (Edit(key="model.threads", value=2),), "Two threads")
    workspace.branch("result", first)
    workspace.branch("result", second)
    patches = workspace.format_patch(root, second)
    assert [patch.splitlines()[3] for patch in patches] == [
        "Subject: [PATCH 1/2] Go fast",
        "Subject: [PATCH 2/2] Two threads",
    ]
    assert workspace.format_patch(root, root) == []
    clone = tmp_path / "clone"
    git = ["git", "-c", "advice.detachedHead=false"]
    subprocess.run(
        [*git, "clone", "--quiet", "--branch", "result", str(workspace.path), str(clone)],
        check=True,
    )
    assert load_config((clone / "serve.yaml").read_text()) == workspace.config(second)


def test_files_can_be_committed(workspace: Workspace, tmp_path: Path) -> None:
    files = {"overlay/module.py": b"x = 2\n", "kernels/k.json": b"{}\n"}
    commit = workspace.commit_files(root_of(workspace), files, "Patch")
    path = workspace.checkout(commit, tmp_path / "tree")
    assert {name: (path / name).read_bytes() for name in files} == files


def test_hooks_do_not_run(workspace: Workspace, tmp_path: Path) -> None:
    hooks = workspace.path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
        (hooks / name).chmod(0o755)
    commit = workspace.commit_edits(root_of(workspace), FAST, "Go fast")
    workspace.checkout(commit, tmp_path / "tree")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("commit", ["1" * 40, "0" * 40, "HEAD", "--help", "abc"])
def test_unknown_commits_are_named(workspace: Workspace, tmp_path: Path, commit: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        workspace.config(commit)
    assert commit in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(WorkspaceError):
        workspace.checkout(commit, tmp_path / "tree")
    with pytest.raises(WorkspaceError):
        workspace.branch("result", commit)
    assert not (tmp_path / "tree").exists()


def test_missing_git_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="git was not found on PATH: install git"):
        Workspace(tmp_path / "workspace").create(write_files)
