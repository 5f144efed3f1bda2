"""An export can be applied, fetched and started, and leaves the campaign as it is."""

import os
import subprocess
from pathlib import Path

import pytest

from arbor.events.errors import ArborError, InvalidInputError, NotFoundError
from arbor.replay.export import BASELINE_BRANCH, BUNDLE, FINAL_BRANCH, export
from arbor.replay.result import build_result
from arbor.replay.result_models import Result
from tests.replay.recorded import record

SCRIPT = "#!/bin/sh\necho started\n"
IDENTITY = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", "t"), ("EMAIL", "t@localhost"))
    },
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **IDENTITY},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def snapshot(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def exported(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    before = snapshot(finished)
    out = tmp_path_factory.mktemp("out") / "stack"
    done = export(finished, out, SCRIPT)
    assert done.path == out
    assert all(patch.is_file() for patch in done.patches)
    assert snapshot(finished) == before
    return out


def test_everything_is_there(exported: Path, finished: Path) -> None:
    names = {path.name for path in exported.iterdir()}
    assert names == {
        "serve.yaml",
        "patches",
        BUNDLE,
        "launch.sh",
        "result.json",
        "report.md",
        "report.html",
    }
    result = Result.model_validate_json((exported / "result.json").read_text())
    assert result == build_result(finished)
    kept = [n for n in result.nodes if n.status == "kept" and n.parent_id is not None]
    assert len(list((exported / "patches").iterdir())) == len(kept)
    assert not list(exported.parent.glob(".stack.*"))


def test_branch_can_be_fetched_and_patches_applied(exported: Path, tmp_path: Path) -> None:
    result = Result.model_validate_json((exported / "result.json").read_text())
    git(tmp_path, "init", "--quiet", "repo")
    repo = tmp_path / "repo"
    bundle = str(exported / BUNDLE)
    for branch in (BASELINE_BRANCH, FINAL_BRANCH):
        git(repo, "fetch", "--quiet", bundle, f"{branch}:{branch}")
    assert git(repo, "rev-parse", FINAL_BRANCH) == result.final_commit
    git(repo, "checkout", "--quiet", BASELINE_BRANCH)
    patches = sorted(str(path) for path in (exported / "patches").iterdir())
    git(repo, "am", "--quiet", *patches)
    assert git(repo, "rev-parse", "HEAD^{tree}") == git(
        repo, "rev-parse", f"{FINAL_BRANCH}^{{tree}}"
    )
    assert (repo / "serve.yaml").read_text() == (exported / "serve.yaml").read_text()


def test_launch_script_runs(exported: Path) -> None:
    done = subprocess.run([exported / "launch.sh"], capture_output=True, text=True, check=True)
    assert done.stdout == "started\n"


def test_folder_in_use_is_left_alone(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InvalidInputError, match="not empty"):
        export(finished, tmp_path, SCRIPT)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_empty_folder_is_used(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    export(finished, tmp_path / "out", SCRIPT)
    assert (tmp_path / "out" / "launch.sh").is_file()


def test_nothing_kept_gives_the_baseline(tmp_path: Path) -> None:
    path = record(tmp_path / "c", wall_s=5, is_killed=False)
    done = export(path, tmp_path / "out", SCRIPT)
    assert done.patches == ()
    assert done.commit == build_result(path).campaign.root_commit
    assert (tmp_path / "out" / "serve.yaml").is_file()


def test_campaign_without_its_repository(campaign: Path, tmp_path: Path) -> None:
    (campaign / "workspace").rename(tmp_path / "elsewhere")
    with pytest.raises(NotFoundError, match="whole campaign directory"):
        export(campaign, tmp_path / "out", SCRIPT)
    assert not (tmp_path / "out").exists()


def test_repository_without_the_commit(campaign: Path, tmp_path: Path) -> None:
    for path in (campaign / "workspace" / "objects").rglob("*"):
        if path.is_file():
            path.unlink()
    with pytest.raises(ArborError, match="git"):
        export(campaign, tmp_path / "out", SCRIPT)
    assert not (tmp_path / "out").exists()
