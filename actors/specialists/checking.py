"""What a draft shows on the spot: three kinds of feedback, all of them, always."""

import ast
import difflib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arbor.actors.specialists.base import Task
from arbor.core.feedback import Kind
from arbor.events.types import Edit, Profile, WindowSample
from arbor.targets.base import LocalCheck, PatchableTarget, ServerFailedError
from arbor.targets.sandbox.sandbox import Sandbox

NOT_RUN = "not run: the draft does not work"


@dataclass(frozen=True, slots=True)
class Feedback:
    """What was seen of one version of the code.

    Attributes:
        texts: by kind; every kind is there.
        throughput_tok_s: of a short window; None when it does not work.
        failure: what broke it, if it is broken.
        output_digest: of what it answered.
    """

    texts: Mapping[Kind, str]
    throughput_tok_s: float | None = None
    failure: ServerFailedError | None = None
    output_digest: str = ""

    @property
    def is_working(self) -> bool:
        """True when it served a whole window."""
        return self.failure is None


class Checker:
    """Builds, starts and measures versions of the code for one task.

    Args:
        task: the task; its target can be patched.
        before: the patchable files' texts as they are without a patch.
    """

    def __init__(self, task: Task, before: Mapping[str, str]) -> None:
        self._task = task
        self._before = before
        self._base: Feedback | None = None

    def base(self) -> Feedback:
        """Return the feedback about the code as it is.

        Raises:
            ServerFailedError: even that fails.
            CancelledError: the action is not wanted any more.
        """
        if self._base is None:
            sample, profile = self._task.probe(())
            self._base = Feedback(
                {
                    "debugger": "the code as it is starts and serves",
                    "analyzer": "nothing is changed yet",
                    "profiler": _profiled(sample, profile, None),
                },
                sample.throughput_tok_s,
                output_digest=sample.output_digest,
            )
        return self._base

    def look(self, edits: Sequence[Edit], after: Mapping[str, str]) -> Feedback:
        """Return the feedback about a draft.

        Args:
            edits: the draft as edits.
            after: the changed files' new texts.

        Raises:
            CancelledError: the action is not wanted any more.
        """
        analysis = analyse(self._before, after)
        try:
            self._check_locally(edits)
            sample, profile = self._served(edits)
        except ServerFailedError as error:
            texts: dict[Kind, str] = {
                "debugger": _told(error),
                "analyzer": analysis,
                "profiler": NOT_RUN,
            }
            return Feedback(texts, failure=error)
        base = self.base()
        is_same = sample.output_digest == base.output_digest
        outputs = "equal to" if is_same else "different from"
        return Feedback(
            {
                "debugger": "it builds, starts and serves a whole window",
                "analyzer": f"{analysis}\nanswers are {outputs} those of the code before",
                "profiler": _profiled(sample, profile, base.throughput_tok_s),
            },
            sample.throughput_tok_s,
            output_digest=sample.output_digest,
        )

    def _served(self, edits: Sequence[Edit]) -> tuple[WindowSample, Profile]:
        """Return a whole window and a profile.

        Raises:
            ServerFailedError: the server, or a request, failed.
        """
        sample, profile = self._task.probe(edits)
        if sample.num_failed:
            message = f"{sample.num_failed} of {sample.num_planned_requests} requests failed"
            raise ServerFailedError("benchmark", message)
        return sample, profile

    def _check_locally(self, edits: Sequence[Edit]) -> None:
        """Run the target's checks in a fresh worktree, which nothing is read back from.

        Raises:
            ServerFailedError: one fails.
        """
        task, target = self._task, self._task.place.target
        checks = target.local_checks() if isinstance(target, PatchableTarget) else ()
        if not checks:
            return
        worktree = _worktree(task)
        shutil.rmtree(worktree, ignore_errors=True)
        task.place.workspace.checkout(task.commit(edits), worktree)
        try:
            with task.host():
                task.check_wanted()
                for check in checks:
                    self._run(check, worktree_sandbox(task, check))
        finally:
            shutil.rmtree(worktree, ignore_errors=True)

    @staticmethod
    def _run(check: LocalCheck, sandbox: Sandbox) -> None:
        try:
            outcome = sandbox.run(check.argv)
        finally:
            sandbox.clear()
        if not outcome.is_good:
            raise ServerFailedError(
                "build",
                f"{check.name}: {outcome}",
                outcome.exit_code,
                outcome.signal,
                outcome.output,
            )


def _worktree(task: Task) -> Path:
    return task.place.directory / "worktrees" / f"{task.slot}-sandbox"


def worktree_sandbox(task: Task, check: LocalCheck) -> Sandbox:
    """Return the sandbox of a check of a task's draft."""
    directory = task.place.directory
    return Sandbox(
        _worktree(task).resolve(),
        (directory / "scratch" / task.slot).resolve(),
        directory / "logs" / f"{task.slot}-{check.name}.log",
        environment=check.environment,
    )


def _told(error: ServerFailedError) -> str:
    return "\n".join((f"{error.phase}: {error.message}", *error.log_tail))


def _profiled(sample: WindowSample, profile: Profile, base_tok_s: float | None) -> str:
    shares = sorted(profile.shares, key=lambda share: -share.share_ratio)
    lines = [f"{sample.throughput_tok_s:.1f} tokens/s in a short window"]
    if base_tok_s:
        lines[0] += f", {sample.throughput_tok_s / base_tok_s:.3f}x of the code before"
    lines += [f"{share.category}: {share.share_ratio:.1%} of the time" for share in shares]
    return "\n".join(lines)


def analyse(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return what a change is without running it: sizes, functions, what does not parse."""
    lines = []
    for path in sorted(after):
        moved = list(
            difflib.unified_diff(before[path].splitlines(), after[path].splitlines(), n=0)
        )
        num_added = sum(line.startswith("+") and not line.startswith("+++") for line in moved)
        num_removed = sum(line.startswith("-") and not line.startswith("---") for line in moved)
        lines.append(f"{path}: {num_added} lines added, {num_removed} removed")
        if path.endswith(".py"):
            lines.append(_functions(before[path], after[path]))
    return "\n".join(lines)


def _functions(before: str, after: str) -> str:
    try:
        old, new = _bodies(before), _bodies(after)
    except SyntaxError as error:
        return f"  does not parse: line {error.lineno}: {error.msg}"
    changed = sorted(name for name in new if name in old and old[name] != new[name])
    added, removed = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    named = (("changed", changed), ("added", added), ("removed", removed))
    return "  " + "; ".join(f"{word} {', '.join(names)}" for word, names in named if names)


def _bodies(text: str) -> dict[str, str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))
    return {node.name: ast.dump(node) for node in nodes}
