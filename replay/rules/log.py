"""The log and the blobs are whole: every byte has the digest that it should have."""

from hashlib import sha256
from pathlib import Path

from arbor.core.patches import path_of
from arbor.events.base import Event
from arbor.events.durable import TEMPORARY_SUFFIX
from arbor.events.model_calls import ModelCalled
from arbor.events.outcome import Crashed
from arbor.events.verify import verify
from arbor.events.work import FeedbackCollected, PatchDrafted, PatchProposed, PatchRefused
from arbor.replay.rules.base import AuditProblem, Evidence, Findings


class LogIsWhole:
    """Seals, page checksums, positions and the chain of digests."""

    name = "log"
    title = "no byte of the log changed: seals, page checksums, positions, digest chain"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Recompute everything that the log says about itself."""
        report = verify(evidence.directory.log, evidence.anchors)
        findings.num_checked = report.num_events
        findings.problems += [AuditProblem(p.position, p.text) for p in report.problems]


def named_digests(event: Event) -> tuple[str, ...]:
    """Return the blobs that an event names."""
    match event:
        case PatchProposed():
            files = (edit.value for edit in event.edits if path_of(edit.key) is not None)
            named: tuple[str | None, ...] = (event.diff_digest, *map(str, files))
        case PatchDrafted() | PatchRefused():
            named = (event.diff_digest,)
        case Crashed():
            named = (event.log_digest,)
        case FeedbackCollected():
            named = (event.blob_digest,)
        case ModelCalled():
            named = (event.prompt_digest, event.reply_digest)
        case _:
            named = ()
    return tuple(digest for digest in named if digest)


class BlobsAreWhole:
    """Blobs that events name exist, and every blob has the content of its name."""

    name = "blobs"
    title = "every blob that an event names is there, and all blobs match their digests"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Read every blob."""
        named_at: dict[str, int] = {}
        for recorded in evidence.events:
            for digest in named_digests(recorded.event):
                named_at.setdefault(digest, recorded.position)
        folder = evidence.directory.blobs
        stored = _stored(folder)
        for digest, position in named_at.items():
            findings.require(digest in stored, position, f"blob {digest} is missing in {folder}")
        for digest, path in sorted(stored.items()):
            position = named_at.get(digest, 0)
            try:
                content = sha256(path.read_bytes()).hexdigest()
            except OSError as error:
                findings.require(False, position, f"blob {path} cannot be read ({error})")
                continue
            findings.require(
                content == path.name and path.parent.name == digest[:2],
                position,
                f"blob {path} was changed: its content has digest {content}",
            )


def _stored(folder: Path) -> dict[str, Path]:
    return {
        path.name: path
        for path in folder.glob("*/*")
        if path.is_file()
        and not (path.parent.name == "incoming" and path.name.endswith(TEMPORARY_SUFFIX))
    }
