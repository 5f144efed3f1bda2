"""Drafts of a patch: from a model's diff to edits that are tried once, or to why they are not."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from arbor.actors.specialists.base import NoPatchError, Task
from arbor.actors.specialists.checking import Checker, Feedback
from arbor.core.diffs import DiffError, apply_files, parse_diff, paths_of
from arbor.core.feedback import KINDS
from arbor.core.patches import change_digest, is_about_harness, key_of, refusal
from arbor.events.types import Edit
from arbor.events.work import FeedbackCollected, PatchDrafted

_SUMMARY_CHARACTERS = 200
TRIED_BEFORE = "this very change was tried before on this code; write another one"
NO_CHANGE = "nothing changes but comments and layout"


@dataclass(frozen=True, slots=True)
class Draft:
    """A version of the patch that was tried.

    Attributes:
        number: from 1, in the order of the attempt; 0 is the code before.
        files: the changed files' new texts.
        edits: the patch as edits.
        feedback: what was seen.
    """

    number: int
    files: Mapping[str, str]
    edits: tuple[Edit, ...]
    feedback: Feedback


class Drafts:
    """All drafts of one attempt, and what may become one.

    Attributes:
        sources: the texts of the files that may change.
        tried: the drafts that were tried, in order.
        rejection: why the latest that was not tried was not.
    """

    def __init__(self, task: Task, sources: Mapping[str, str], checker: Checker) -> None:
        self.sources = dict(sources)
        self.tried: list[Draft] = []
        self.rejection = ""
        self._task = task
        self._checker = checker
        self._num_written = 0
        # several coders may be told at once that their diffs do not apply
        self._lock = Lock()
        self._by_change: dict[str, Draft] = {}

    @property
    def is_exhausted(self) -> bool:
        """True when no further draft may be tried."""
        return len(self.tried) >= self._task.state.settings.patches.max_drafts

    def base(self) -> Draft:
        """Return the code before as draft 0, with its feedback recorded once.

        Raises:
            ServerFailedError: even that fails.
            CancelledError: the action is not wanted any more.
        """
        found = self._by_change.get("")
        if found is None:
            found = Draft(0, {}, (), self._checker.base())
            self._by_change[""] = found
            self._record_feedback(found)
        return found

    def apply(self, diff: str, on: Mapping[str, str]) -> dict[str, str]:
        """Return the changed files of a diff on top of a draft's.

        Args:
            diff: what a model wrote.
            on: files that differ from ``sources`` already.

        Raises:
            DiffError: it does not apply; the text is the reason.
            NoPatchError: it reaches for benchmark, gate data or harness.
        """
        files = parse_diff(diff)
        paths = paths_of(files)
        reason = refusal(paths, tuple(sorted(self.sources)))
        if reason is not None:
            wrong = tuple(path for path in paths if path not in self.sources)
            if is_about_harness(wrong):
                self._reject(diff, "", paths, reason)
                raise NoPatchError(reason, wrong, self._task.place.blobs.put(diff.encode()))
            raise DiffError(reason)
        changed = {**on, **apply_files(files, {**self.sources, **on})}
        return {path: text for path, text in changed.items() if text != self.sources[path]}

    def try_out(self, files: Mapping[str, str], diff: str) -> Draft | None:
        """Return the draft of changed files, tried now unless it was tried in this attempt.

        Args:
            files: the changed files' new texts.
            diff: what the model wrote last.

        Returns:
            None when it is not tried; ``rejection`` says why.

        Raises:
            CancelledError: the action is not wanted any more.
        """
        digest = change_digest(self.sources, files)
        paths = tuple(sorted(files))
        known = self._by_change.get(digest) if digest else None
        if known is not None:
            return known
        reason = self._reason(digest)
        if reason:
            self._reject(diff, digest, paths, reason)
            return None
        number = self._note(diff, digest, paths, "")
        blobs = self._task.place.blobs
        edits = tuple(
            Edit(key=key_of(path), value=blobs.put(files[path].encode())) for path in paths
        )
        self._task.patch_files = paths
        feedback = self._checker.look(edits, files)
        draft = Draft(number, dict(files), edits, feedback)
        self.tried.append(draft)
        self._by_change[digest] = draft
        self._record_feedback(draft)
        failure = feedback.failure.message if feedback.failure is not None else None
        self._task.record_measured_trial(
            len(self.tried), edits, "code", feedback.throughput_tok_s, failure
        )
        return draft

    def best(self) -> Draft | None:
        """Return the fastest draft that works, or None."""
        working = [draft for draft in self.tried if draft.feedback.is_working]
        return max(working, key=lambda d: d.feedback.throughput_tok_s or 0.0, default=None)

    def _reason(self, digest: str) -> str:
        if not digest:
            return NO_CHANGE
        if self.is_exhausted:
            return f"all {len(self.tried)} drafts of this action were tried"
        dispatch = self._task.dispatch
        for each in self._task.state.drafts:
            # what an attempt that died had drafted is drafted again
            is_dead = each.node_id == dispatch.node_id and each.attempt_id != self._task.attempt_id
            is_same = each.change_digest == digest and each.base_commit == dispatch.parent_commit
            if is_same and not each.rejection and not is_dead:
                return TRIED_BEFORE
        return ""

    def _reject(self, diff: str, digest: str, paths: tuple[str, ...], reason: str) -> None:
        self.rejection = reason
        self._note(diff, digest, paths, reason)

    def note_wrong(self, diff: str, reason: str) -> None:
        """Record a diff that does not apply."""
        self._reject(diff, "", (), reason)

    def _note(self, diff: str, digest: str, paths: tuple[str, ...], rejection: str) -> int:
        with self._lock:
            self._num_written += 1
            number = self._num_written
        task = self._task
        task.journal.append(
            PatchDrafted(
                action_id=task.dispatch.action_id,
                attempt_id=task.attempt_id,
                node_id=task.dispatch.node_id,
                base_commit=task.dispatch.parent_commit,
                draft=number,
                diff_digest=task.place.blobs.put(diff.encode()),
                change_digest=digest,
                paths=paths,
                rejection=rejection,
            )
        )
        return number

    def _record_feedback(self, draft: Draft) -> None:
        task = self._task
        events = []
        for kind in KINDS:
            text = draft.feedback.texts[kind]
            first = (text.splitlines() or [""])[0]
            events.append(
                FeedbackCollected(
                    action_id=task.dispatch.action_id,
                    attempt_id=task.attempt_id,
                    source=kind,
                    summary=first[:_SUMMARY_CHARACTERS],
                    blob_digest=task.place.blobs.put(text.encode()),
                    draft=draft.number,
                )
            )
        task.journal.append(*events)
