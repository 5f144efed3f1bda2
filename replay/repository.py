"""The campaign's git repository, read-only: what an export needs of git."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from arbor.core.git_environment import git_environment, git_options
from arbor.events.errors import ArborError, NotFoundError

_LIMIT_S = 120.0
_SHOWN_LINES = 5
_HEAD_WORDS = 3
"""Name, type and size of an object; what is missing has two words."""
_OPTIONS = (
    # The directory may have been copied from another user's machine.
    "safe.directory=*",
    "init.defaultBranch=baseline",
)


class GitFailedError(ArborError):
    """Git refused something, or is not installed."""


def run_git(repository: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Return what a git command on a bare repository writes to its standard output.

    Args:
        repository: the bare repository.
        arguments: the command and its arguments.
        stdin: what it reads from its standard input.

    Raises:
        GitFailedError: git is missing, failed, or took over two minutes.
    """
    done = _git(repository, *arguments, stdin=stdin)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise GitFailedError(f"git {arguments[0]} on {repository} failed: {lines[-1]}")
    return done.stdout


def _git(
    repository: Path, *arguments: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    command = ["git", *git_options(_OPTIONS), f"--git-dir={repository.resolve()}", *arguments]
    environment = git_environment(os.environ.get("PATH", os.defpath))
    # What stands in the place of a commit is not that commit.
    environment["GIT_NO_REPLACE_OBJECTS"] = "1"
    try:
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            env=environment,
            timeout=_LIMIT_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise GitFailedError("git was not found on PATH: install git 2.36 or later") from error
    except subprocess.TimeoutExpired as error:
        raise GitFailedError(f"git {arguments[0]} took over {_LIMIT_S:.0f} s") from error


def clone_nodes(workspace: Path, clone: Path, branches: dict[str, str]) -> None:
    """Make a bare repository with branches at nodes' commits; the workspace stays untouched.

    Args:
        workspace: the campaign's repository.
        clone: folder that does not exist yet.
        branches: name of a branch to the commit of a node.

    Raises:
        NotFoundError: there is no repository.
        GitFailedError: git failed, or a commit is not in the repository.
    """
    if not (workspace / "objects").is_dir():
        raise NotFoundError(f"{workspace} is no repository: copy the whole campaign directory")
    clone.mkdir(parents=True)
    run_git(clone, "init", "--quiet", "--bare", "--template=")
    (clone / "objects" / "info").mkdir(parents=True, exist_ok=True)
    alternates = clone / "objects" / "info" / "alternates"
    alternates.write_text(f"{(workspace / 'objects').resolve()}\n", encoding="utf-8")
    for name, commit in branches.items():
        run_git(clone, "update-ref", f"refs/heads/{name}", commit)


def copy_nodes(workspace: Path, copy: Path, branches: dict[str, str]) -> None:
    """Make a bare repository that holds all of its branches itself.

    Whoever writes into a repository that only borrows objects touches the lender: git renews the
    age of an object that it is about to write and finds there.

    Args:
        workspace: the campaign's repository.
        copy: folder that does not exist yet.
        branches: name of a branch to the commit of a node.

    Raises:
        NotFoundError: there is no repository.
        GitFailedError: git failed, or a commit is not in the repository.
    """
    clone_nodes(workspace, copy, branches)
    run_git(copy, "repack", "-a", "-d", "--quiet")
    (copy / "objects" / "info" / "alternates").unlink()


def parents_of(workspace: Path, commits: Iterable[str]) -> dict[str, tuple[str, ...] | None]:
    """Return the parents of commits; None for what is no commit of the repository.

    Raises:
        GitFailedError: git failed.
    """
    wanted = sorted(set(commits))
    text = run_git(workspace, "cat-file", "--batch", stdin="\n".join(wanted).encode() + b"\n")
    found: dict[str, tuple[str, ...] | None] = {}
    at = 0
    for commit in wanted:
        end = text.index(b"\n", at)
        head = text[at:end].split()
        at = end + 1
        if len(head) != _HEAD_WORDS:
            found[commit] = None
            continue
        body = text[at : at + int(head[2])]
        at += int(head[2]) + 1
        lines = body.split(b"\n\n", 1)[0].splitlines()
        parents = tuple(line.split()[1].decode() for line in lines if line.startswith(b"parent "))
        found[commit] = parents if head[1] == b"commit" else None
    return found


def damaged_objects(workspace: Path) -> tuple[str, ...]:
    """Return what git finds wrong with the objects that can be reached, one line each.

    Raises:
        GitFailedError: git is missing or took too long.
    """
    done = _git(workspace, "fsck", "--full", "--no-dangling", "--no-progress", "--no-reflogs")
    if done.returncode == 0:
        return ()
    text = (done.stderr + b"\n" + done.stdout).decode(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    return tuple(f"git fsck: {line}" for line in lines[:_SHOWN_LINES]) or ("git fsck fails",)


def references(workspace: Path) -> dict[str, str]:
    """Return the references of a repository and the objects that they name.

    Raises:
        GitFailedError: git failed.
    """
    text = run_git(workspace, "for-each-ref", "--format=%(refname) %(objectname)")
    lines = text.decode(errors="replace").splitlines()
    return {name: commit for name, _, commit in (line.rpartition(" ") for line in lines)}
