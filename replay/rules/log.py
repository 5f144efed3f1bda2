"""The log and the blobs are whole: every byte has the digest that it should have."""

from hashlib import sha256
from pathlib import Path

from arbor.core.patches import path_of
from arbor.events.base import Event
from arbor.events.durable import TEMPORARY_SUFFIX
from arbor.events.model_calls import ModelCalled
from arbor.events.outcome import Crashed
from arbor.events.parquet_reader import ParquetReader
from arbor.events.verify import verify
from arbor.events.work import FeedbackCollected, PatchDrafted, PatchProposed, PatchRefused
from arbor.replay.rules.base import AuditProblem, Evidence, Findings
from arbor.replay.rules.code import code_spans


class LogIsWhole:
    """Seals, page checksums, positions and the chain of digests."""

    name = "log"
    title = "no byte of the log changed: seals, page checksums, positions, digest chain"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Recompute everything that the log says about itself."""
        report = verify(evidence.directory.log, evidence.anchors)
        findings.num_checked = report.num_events
        findings.problems += [AuditProblem(p.position, p.text) for p in report.problems]


class TagsFollowFromEvents:
    """Conditional appends watch tags, so tags decide which decisions were allowed to land."""

    name = "tags"
    title = "what every event was watched by is what the event itself says"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Compare every event's tags with the column of the log."""
        if not evidence.directory.log.is_dir():
            return
        stored: dict[int, list[str]] = {}
        for file in ParquetReader(evidence.directory.log).files():
            rows = file.table(["position", "tags"]).to_pydict()
            stored.update(zip(rows["position"], rows["tags"], strict=True))
        foreign = [span for span in code_spans(evidence.events) if not span.is_own]
        for recorded in evidence.events:
            own = sorted(recorded.event.tags())
            is_own_code = not any(s.first <= recorded.position <= s.last for s in foreign)
            findings.require(
                stored.get(recorded.position) == own or not is_own_code,
                recorded.position,
                f"{recorded.event.kind} is tagged {stored.get(recorded.position)}, it says {own}",
            )


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
