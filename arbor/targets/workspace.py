"""The git repository of a target: one commit per node, made from content alone."""

import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from arbor.events.types import Edit, Scalar
from arbor.targets.git import Git, WorkspaceError
from arbor.targets.serve_yaml import CONFIG_FILE, apply_edits, dump_config, load_config

BASELINE_BRANCH = "baseline"
COMMIT_MARKER = ".arbor-commit"
"""File of a checkout that names its commit; not part of the commit."""

_STALE_S = 120.0
_LOCK_STALE_S = 5.0
# git holds a lock for milliseconds; every attempt waits for it, see git.py
_LOCK_ATTEMPTS = 2
# not all zeros: git takes these as an order to delete
_COMMIT = re.compile(r"(?!0{40})[0-9a-f]{40}")


class Workspace:
    """The bare git repository of a target, its commits and their plain checkouts.

    All methods may be called by several processes at once, and a process that is killed halfway
    leaves nothing that a later call would take for complete.

    Attributes:
        path: folder of the repository.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._git = Git(path)

    def create(self, write_files: Callable[[Path], None], cache: Path | None = None) -> str:
        """Make the repository and its root commit; an existing one is left as it is.

        Args:
            write_files: writes the baseline's files into the empty folder that it is given.
            cache: folder in which that folder is made; the system's temporary one by default.

        Returns:
            The root commit, which branch ``baseline`` names.

        Raises:
            WorkspaceError: git is missing or failed.
        """
        root = self.root()
        if root is not None:
            return root
        self.path.mkdir(parents=True, exist_ok=True)
        self._git.run("init", "--quiet", "--bare", "--object-format=sha1", "--template=")
        self._git.run("symbolic-ref", "HEAD", f"refs/heads/{BASELINE_BRANCH}")
        if cache is not None:
            cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as staging, self._index() as index:
            write_files(Path(staging))
            _normalise(Path(staging) / CONFIG_FILE)
            index["GIT_WORK_TREE"] = staging
            self._git.run("add", "--all", "--force", ".", extra_env=index, cwd=Path(staging))
            root = self._commit(index, None, "Baseline")
        self.branch(BASELINE_BRANCH, root)
        return root

    def root(self) -> str | None:
        """Return the root commit, or None before ``create`` has finished."""
        if not (self.path / "objects").is_dir():
            return None
        name = f"refs/heads/{BASELINE_BRANCH}"
        return self._git.run("for-each-ref", "--format=%(objectname)", name).strip() or None

    def commit_edits(self, parent_commit: str, edits: Sequence[Edit], message: str) -> str:
        """Set keys of ``serve.yaml`` on top of a commit.

        Equal parents, edits and messages give the same commit on any machine.

        Raises:
            InvalidInputError: the file of the parent, or a key, has not the form of one.
            WorkspaceError: git failed, or the parent is unknown.
        """
        return self.commit_files(parent_commit, {}, message, edits)

    def commit_files(
        self,
        parent_commit: str,
        files: Mapping[str, bytes],
        message: str,
        edits: Sequence[Edit] = (),
    ) -> str:
        """Set whole files, as path within the repository to content, on top of a commit.

        Args:
            parent_commit: the commit.
            files: the files.
            message: the new commit's.
            edits: keys of ``serve.yaml`` to set as well.

        Raises:
            InvalidInputError: ``serve.yaml`` of the parent, or a key, has not the form of one.
            WorkspaceError: git failed, or the parent is unknown.
        """
        if edits:
            document = load_config(self._show(parent_commit, CONFIG_FILE))
            files = {**files, CONFIG_FILE: dump_config(apply_edits(document, edits))}
        with self._index() as index:
            self._git.run("read-tree", _checked(parent_commit), extra_env=index)
            for path, content in sorted(files.items()):
                blob = self._git.run("hash-object", "-w", "--stdin", stdin=content).strip()
                entry = f"100644,{blob},{path}"
                self._git.run("update-index", "--add", "--cacheinfo", entry, extra_env=index)
            return self._commit(index, parent_commit, message)

    def files(self, commit: str) -> dict[str, str]:
        """Return the text files of a commit by path within the repository.

        Raises:
            WorkspaceError: git failed, or the commit is unknown.
        """
        listed = self._git.run("ls-tree", "-r", "--name-only", "-z", _checked(commit))
        return {path: self._show(commit, path) for path in listed.split("\0") if path}

    def config(self, commit: str) -> dict[str, Scalar]:
        """Return the flat configuration of a commit.

        Raises:
            InvalidInputError: its ``serve.yaml`` has not the form of one.
            WorkspaceError: git failed, or the commit is unknown.
        """
        return load_config(self._show(commit, CONFIG_FILE))

    def checkout(self, commit: str, path: Path) -> Path:
        """Write the files of a commit, without ``.git``, into a folder; idempotent.

        The folder appears complete or not at all. One that already holds the commit is kept as
        it is; one that holds another commit is replaced.

        Raises:
            WorkspaceError: git failed, or the folder exists and is no checkout.
        """
        if _commit_of(path) == _checked(commit):
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        partial = _partial(path)
        partial.mkdir()
        try:
            with self._index() as index:
                index["GIT_WORK_TREE"] = str(partial.resolve())
                self._git.run("read-tree", commit, extra_env=index, cwd=partial)
                self._git.run("checkout-index", "--all", "--force", extra_env=index, cwd=partial)
            (partial / COMMIT_MARKER).write_text(commit + "\n")
            _move_into_place(partial, path, commit)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return path

    def remove(self, path: Path) -> None:
        """Delete a checkout and what killed checkouts left beside it; idempotent.

        Raises:
            WorkspaceError: the folder is no checkout.
        """
        _sweep(path)
        _discard(path)

    def diff(self, a: str, b: str) -> str:
        """Return the unified diff from one commit to another.

        Raises:
            WorkspaceError: git failed, or a commit is unknown.
        """
        return self._git.run(
            "diff-tree", "-p", "-r", "--full-index", "--no-color", _checked(a), _checked(b)
        )

    def branch(self, name: str, commit: str) -> None:
        """Make or move a branch.

        Raises:
            WorkspaceError: git refused the name, or the commit is unknown.
        """
        self._point(f"refs/heads/{name}", _checked(commit))

    def format_patch(self, root: str, commit: str) -> list[str]:
        """Return the commits after ``root`` up to ``commit`` as mailbox patches, oldest first.

        Raises:
            WorkspaceError: git failed, or a commit is unknown.
        """
        with tempfile.TemporaryDirectory() as folder:
            span = f"{_checked(root)}..{_checked(commit)}"
            options = ("--quiet", "--no-signature", "--full-index", "-o", folder)
            self._git.run("format-patch", *options, span)
            return [file.read_text() for file in sorted(Path(folder).iterdir())]

    def _show(self, commit: str, path: str) -> str:
        return self._git.run("cat-file", "blob", f"{_checked(commit)}:{path}")

    def _commit(self, index: Mapping[str, str], parent: str | None, message: str) -> str:
        tree = self._git.run("write-tree", extra_env=index).strip()
        parents = () if parent is None else ("-p", parent)
        text = message.rstrip() + "\n"
        commit = self._git.run(
            "commit-tree", tree, *parents, "-F", "-", stdin=text.encode()
        ).strip()
        # a reference keeps the commit from a user's `git gc`
        self._point(f"refs/nodes/{commit}", commit)
        return commit

    def _point(self, reference: str, commit: str) -> None:
        lock = self.path / f"{reference}.lock"
        for attempts_left in reversed(range(_LOCK_ATTEMPTS)):
            if _age_s(lock) > _LOCK_STALE_S:
                # its owner was killed between creating the lock and renaming it
                lock.unlink(missing_ok=True)
            try:
                self._git.run("update-ref", reference, commit)
            except WorkspaceError:
                if not attempts_left:
                    raise
            else:
                return

    @contextmanager
    def _index(self) -> Iterator[dict[str, str]]:
        with tempfile.TemporaryDirectory() as folder:
            yield {"GIT_INDEX_FILE": str(Path(folder) / "index")}


def _normalise(config_file: Path) -> None:
    # in its dumped form already, so that the diff of an edit shows the edit only
    if config_file.exists():
        config_file.write_bytes(dump_config(load_config(config_file.read_text())))


def _checked(commit: str) -> str:
    if not _COMMIT.fullmatch(commit):
        raise WorkspaceError(f"not a commit: {commit!r}; a full hash of 40 digits is needed")
    return commit


def _commit_of(path: Path) -> str | None:
    try:
        return (path / COMMIT_MARKER).read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")


def _move_into_place(partial: Path, path: Path, commit: str) -> None:
    for _ in range(10):
        try:
            partial.rename(path)
        except OSError:
            # another process was faster, or the folder holds another commit
            if _commit_of(path) == commit:
                return
            _discard(path)
        else:
            return
    raise WorkspaceError(f"checkout {path} is being replaced by other processes all the time")


def _discard(path: Path) -> None:
    away = _partial(path)
    # another process may discard it at the same time
    with suppress(FileNotFoundError):
        if _commit_of(path) is None and any(path.iterdir()):
            raise WorkspaceError(f"{path} is no checkout of Arbor; it is left alone")
        # renamed first, so that a kill halfway never leaves half a checkout under its name
        path.rename(away)
    shutil.rmtree(away, ignore_errors=True)


def _sweep(path: Path) -> None:
    for leftover in path.parent.glob(f".{path.name}.*.partial"):
        if _age_s(leftover) > _STALE_S:
            shutil.rmtree(leftover, ignore_errors=True)


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
