"""Where effects happen: target, workspace, blobs, folders and the host's name."""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from arbor.actors.journal import Journal
from arbor.core.models import Model
from arbor.core.patches import path_of
from arbor.events.blobs import BlobStore
from arbor.events.outcome import Crashed
from arbor.events.types import Edit
from arbor.targets.base import (
    QuickTarget,
    ScreeningTarget,
    Server,
    ServerFailedError,
    Target,
    num_devices_of,
)
from arbor.targets.host_state import host_facts
from arbor.targets.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Place:
    """Everything that a worker's effects need; one in each process.

    Attributes:
        target: the stack that is optimised.
        workspace: its commits.
        blobs: store for large bodies.
        directory: the campaign's directory.
        host: name under which leases are taken.
        create_model: makes the language models' door for whoever appends to a journal; None where
            the campaign has no models.
        devices: accelerators that its servers use, by name; empty: it takes none, or nobody
            divides them.
    """

    target: Target
    workspace: Workspace
    blobs: BlobStore
    directory: Path
    host: str = field(default_factory=socket.gethostname)
    devices: tuple[str, ...] = ()
    create_model: Callable[[Journal], Model] | None = None

    def with_models(self, create_model: Callable[[Journal], Model]) -> "Place":
        """Return the same place where language models can be asked."""
        return replace(self, create_model=create_model)

    def commit(self, parent_commit: str, edits: Sequence[Edit]) -> str:
        """Return the commit of edits on a parent; no edits is the parent itself.

        Edits that stand for files take these, whole, from the blobs.

        Raises:
            NotFoundError: a file's content is not among the blobs.
            WorkspaceError: git failed.
        """
        if not edits:
            return parent_commit
        settings = [edit for edit in edits if path_of(edit.key) is None]
        said = [f"{edit.key}={edit.value}" for edit in settings]
        message = "Set " + ", ".join(said) if said else ""
        if len(settings) == len(edits):
            return self.workspace.commit_edits(parent_commit, edits, message)
        files = {
            path: self.blobs.get(str(edit.value))
            for edit in edits
            if (path := path_of(edit.key)) is not None
        }
        changes = "Change " + ", ".join(sorted(files))
        message = f"{message}; {changes}" if message else changes
        return self.workspace.commit_files(parent_commit, files, message, settings)

    @contextmanager
    def serve(self, commit: str, user: str, *, is_quick: bool = False) -> Iterator[Server]:
        """Check a commit out and run its server; ``user`` keeps checkouts and logs apart.

        A quick start is for trials; without it the server is a new process in every target.

        Raises:
            ServerFailedError: the server did not become ready.
            WorkspaceError: the checkout failed.
        """
        start = self.target.serve
        if is_quick and isinstance(self.target, QuickTarget):
            start = self.target.serve_quickly
        with self._run(commit, user, start) as server:
            yield server

    def has_quick_starts(self) -> bool:
        """Return whether a target starts servers from what it has prepared, which costs little."""
        return isinstance(self.target, QuickTarget)

    def has_smoke_test(self) -> bool:
        """Return whether a specialist starts what it proposes though nothing is to be chosen."""
        return not isinstance(self.target, ScreeningTarget) or self.target.has_smoke_test()

    @contextmanager
    def serve_for_screening(self, commit: str, user: str) -> Iterator[Server]:
        """Check a commit out and run what plays a window of it soonest; no evidence.

        Raises:
            ServerFailedError: it did not become ready.
            WorkspaceError: the checkout failed.
        """
        start = self.target.serve
        if isinstance(self.target, ScreeningTarget):
            start = self.target.serve_for_screening
        elif isinstance(self.target, QuickTarget):
            start = self.target.serve_quickly
        with self._run(commit, user, start) as server:
            yield server

    @contextmanager
    def _run(
        self,
        commit: str,
        user: str,
        start: Callable[[Path, Path], AbstractContextManager[Server]],
    ) -> Iterator[Server]:
        self._require_devices(commit)
        name = f"{user}-{commit[:12]}"
        worktree = self.workspace.checkout(commit, self.directory / "worktrees" / name)
        log_path = self.directory / "logs" / f"{name}.log"
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with start(worktree, log_path) as server:
            yield server

    def _require_devices(self, commit: str) -> None:
        """Check that a commit's server fits: a combination may ask for more than its parts.

        Raises:
            ServerFailedError: it does not.
            WorkspaceError: the commit cannot be read.
        """
        if not self.devices:
            return
        needed = num_devices_of(self.target, self.workspace.config(commit))
        if needed > len(self.devices):
            message = f"the server needs {needed} devices, and {len(self.devices)} are given to it"
            raise ServerFailedError("start", message)

    def crashed(
        self,
        error: ServerFailedError,
        *,
        action_id: str | None,
        attempt_id: str,
        node_id: str,
        request_id: str | None = None,
        phase: str | None = None,
        patch_files: tuple[str, ...] = (),
    ) -> Crashed:
        """Return the event of a failed server, its log kept as a blob."""
        text = "\n".join(error.log_tail)
        return Crashed(
            action_id=action_id,
            attempt_id=attempt_id,
            phase=phase or error.phase,
            message=error.message,
            exit_code=error.exit_code,
            signal=error.signal,
            log_digest=self.blobs.put(text.encode()) if text else None,
            log_tail=error.log_tail[-20:],
            request_id=request_id,
            node_id=node_id,
            log_excerpt=error.log_excerpt,
            host_facts=host_facts(self.directory),
            patch_files=patch_files,
        )
