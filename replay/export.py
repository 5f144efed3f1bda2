"""Export of the final stack: everything that is needed to merge it and to run it without Arbor."""

import io
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from arbor.core.layout import CampaignDirectory
from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.replay.report import markdown_report, tell
from arbor.replay.report_html import html_report
from arbor.replay.repository import clone_nodes, run_git
from arbor.replay.result_models import Result

BUNDLE = "final-stack.bundle"
FINAL_BRANCH = "arbor/final"
BASELINE_BRANCH = "arbor/baseline"
_EXECUTABLE = 0o755


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote.

    Attributes:
        path: the folder.
        commit: commit of the final stack.
        patches: the patch series, oldest first; empty when nothing was kept.
    """

    path: Path
    commit: str
    patches: tuple[Path, ...]


def export(directory: Path, out: Path, launch_script: str) -> Exported:
    """Write the final stack of a campaign into a new folder.

    The folder holds the files of the final commit (``serve.yaml`` and the rest), ``patches/``,
    a git bundle with the branches, ``launch.sh``, ``result.json`` and the reports.

    Args:
        directory: the campaign's directory; it is only read.
        out: folder to make; it must not exist, or be empty.
        launch_script: content of ``launch.sh``, which knows how the target is started.

    Raises:
        NotFoundError: there is no campaign, or its repository lacks the final commit.
        InvalidInputError: the folder is in use or cannot be written.
        GitFailedError: git failed.
    """
    result, story = tell(directory)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInputError(f"{out} exists and is not empty: give --out a new folder")
    name = str(directory)
    texts = {
        "launch.sh": launch_script,
        "result.json": result.model_dump_json(indent=2) + "\n",
        "report.md": markdown_report(result, story, name),
        "report.html": html_report(result, story, name),
    }
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
            staged = Path(folder) / "export"
            staged.mkdir()
            patches = _from_git(CampaignDirectory(directory).workspace, result, staged)
            for file, text in texts.items():
                (staged / file).write_text(text, encoding="utf-8")
            (staged / "launch.sh").chmod(_EXECUTABLE)
            if out.exists():
                out.rmdir()
            shutil.move(staged, out)
    except OSError as error:
        raise InvalidInputError(f"cannot write {out}: {error}") from error
    return Exported(out, result.final_commit, tuple(out / "patches" / name for name in patches))


def _from_git(workspace: Path, result: Result, out: Path) -> list[str]:
    """Write what comes from the repository; return the names of the patches."""
    root, final = result.campaign.root_commit, result.final_commit
    if not final:
        raise NotFoundError("the campaign has no commits yet: there is nothing to export")
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        clone_nodes(workspace, clone, {BASELINE_BRANCH: root, FINAL_BRANCH: final})
        _unpack(run_git(clone, "archive", "--format=tar", final), out)
        patches = out / "patches"
        patches.mkdir()
        if root != final:
            options = ("--quiet", "--no-signature", "--full-index", "-o", str(patches.resolve()))
            run_git(clone, "format-patch", *options, f"{root}..{final}")
        bundle = str((out / BUNDLE).resolve())
        run_git(clone, "bundle", "create", "--quiet", bundle, BASELINE_BRANCH, FINAL_BRANCH)
        return sorted(path.name for path in patches.iterdir())


def _unpack(archive: bytes, out: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        # Nothing outside the folder, no links out of it, no devices.
        tar.extractall(out, filter="data")
