"""Git as a function on a workspace: equal content gives equal hashes, one-line errors."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from arbor.core.git_environment import git_environment, git_options
from arbor.events.errors import ArborError

# A fixed author and date: equal parent, content and message give an equal hash anywhere.
_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (
        ("NAME", "arbor"),
        ("EMAIL", "arbor@localhost"),
        ("DATE", "@946684800 +0000"),
    )
}
_OPTIONS = (
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    # a power cut must not lose a commit that the event log names
    "core.fsync=committed",
    "core.filesRefLockTimeout=10000",
)
_LIMIT_S = 120.0


class WorkspaceError(ArborError):
    """Git refused an operation of the workspace, or is not installed."""


class Git:
    """Runs git commands on one bare repository.

    Attributes:
        path: folder of the repository.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        extra_env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> str:
        """Return what a command writes to its standard output.

        Raises:
            WorkspaceError: git is missing, failed, or took over two minutes.
        """
        try:
            done = subprocess.run(
                ["git", *git_options(_OPTIONS), *arguments],
                input=stdin,
                capture_output=True,
                env=self._environment() | dict(extra_env or {}),
                cwd=cwd or self.path.parent,
                timeout=_LIMIT_S,
                check=False,
            )
        except FileNotFoundError as error:
            raise WorkspaceError("git was not found on PATH: install git 2.36 or later") from error
        except subprocess.TimeoutExpired as error:
            raise WorkspaceError(f"git {arguments[0]} took over {_LIMIT_S:.0f} s") from error
        if done.returncode != 0:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise WorkspaceError(f"git {arguments[0]} in {self.path} failed: {lines[0]}")
        return done.stdout.decode(errors="replace")

    def _environment(self) -> dict[str, str]:
        search_path = os.environ.get("PATH", os.defpath)
        return git_environment(search_path) | {"GIT_DIR": str(self.path.resolve()), **_IDENTITY}
