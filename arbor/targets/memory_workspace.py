"""A workspace without git: commits are flat configurations in memory."""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory

from arbor.events.types import Edit, Scalar
from arbor.targets.git import WorkspaceError
from arbor.targets.serve_yaml import CONFIG_FILE, dump_config, load_config
from arbor.targets.workspace import Workspace


class MemoryWorkspace(Workspace):
    """Keeps only ``serve.yaml``; equal parents, edits and messages give equal commits."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._configs: dict[str, dict[str, Scalar]] = {}
        self._root: str | None = None

    def create(self, write_files: Callable[[Path], None], cache: Path | None = None) -> str:
        """Make the root commit of what ``write_files`` writes."""
        if self._root is None:
            with TemporaryDirectory(dir=cache) as staging:
                write_files(Path(staging))
                config = load_config((Path(staging) / CONFIG_FILE).read_text())
            self._root = self._store(None, config, "Baseline")
        return self._root

    def root(self) -> str | None:
        """Return the root commit, or None before ``create``."""
        return self._root

    def _store(self, parent: str | None, config: dict[str, Scalar], message: str) -> str:
        text = json.dumps([parent, config, message], sort_keys=True)
        commit = sha1(text.encode(), usedforsecurity=False).hexdigest()
        self._configs[commit] = config
        return commit

    def commit_edits(self, parent_commit: str, edits: Sequence[Edit], message: str) -> str:
        """Set keys on top of a commit."""
        changed = {edit.key: edit.value for edit in edits}
        return self._store(parent_commit, self.config(parent_commit) | changed, message)

    def commit_files(
        self,
        parent_commit: str,
        files: Mapping[str, bytes],
        message: str,
        edits: Sequence[Edit] = (),
    ) -> str:
        """Refuse: there is only one file here."""
        raise WorkspaceError(
            f"no files in memory: {sorted(files)} {edits} {message} on {parent_commit}"
        )

    def config(self, commit: str) -> dict[str, Scalar]:
        """Return the flat configuration of a commit."""
        if commit not in self._configs:
            raise WorkspaceError(f"not a commit: {commit!r}")
        return dict(self._configs[commit])

    def checkout(self, commit: str, path: Path) -> Path:
        """Write ``serve.yaml`` of a commit into a folder."""
        if not path.exists():
            path.mkdir(parents=True)
            (path / CONFIG_FILE).write_bytes(dump_config(self.config(commit)))
        return path

    def diff(self, a: str, b: str) -> str:
        """Return the changed keys, one a line."""
        old, new = self.config(a), self.config(b)
        return "\n".join(f"{key}: {new[key]}" for key in sorted(new) if old.get(key) != new[key])
