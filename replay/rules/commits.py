"""Every commit that was measured is in the workspace, on the commit that it was made from."""

from collections.abc import Iterator

from arbor.events.base import Event, Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.evidence import EvidenceEvent
from arbor.events.requests import MeasurementRequested
from arbor.events.work import PatchProposed
from arbor.replay.repository import damaged_objects, parents_of, references
from arbor.replay.rules.base import Evidence, Findings

BASELINE_BRANCH = "baseline"
"""Branch of the workspace that names the root commit."""


class CommitsAreThere:
    """The repository holds what the log speaks of, so that anybody can measure it again."""

    name = "commits"
    title = "every measured commit is whole in the workspace, on the commit it was made from"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Look all commits up at once."""
        named = [
            (recorded.position, commit, base)
            for recorded, asked in _with_requests(evidence)
            for commit, base in _commits(recorded.event, asked)
        ]
        workspace = evidence.directory.workspace
        if not (workspace / "objects").is_dir():
            findings.notes.append(f"{workspace} is no repository: no commit was looked up")
            return
        for problem in (*damaged_objects(workspace), *_misled(evidence, references(workspace))):
            findings.require(False, 0, f"{workspace}: {problem}")
        parents = parents_of(workspace, (commit for _, commit, _ in named))
        for position, commit, base in named:
            found = parents[commit]
            findings.require(found is not None, position, f"commit {commit} is not in {workspace}")
            if found is not None:
                is_made_of = base is None or base in {commit, *found}
                findings.require(is_made_of, position, f"commit {commit} does not lie on {base}")


def _with_requests(
    evidence: Evidence,
) -> Iterator[tuple[Recorded, dict[str, MeasurementRequested]]]:
    asked: dict[str, MeasurementRequested] = {}
    for recorded in evidence.events:
        if isinstance(recorded.event, MeasurementRequested):
            asked[recorded.event.request_id] = recorded.event
        yield recorded, asked


def _commits(
    event: Event, asked: dict[str, MeasurementRequested]
) -> Iterator[tuple[str, str | None]]:
    """Yield the commits that an event names, each with the one that it was made from."""
    match event:
        case CampaignStarted():
            yield event.root_commit, None
        case PatchProposed():
            yield event.commit, event.base_commit
        case EvidenceEvent():
            request = asked.get(event.request_id)
            yield event.commit, request.parent_commit if request is not None else None
        case _:
            pass


def _misled(evidence: Evidence, found: dict[str, str]) -> Iterator[str]:
    """Yield the references of a repository that show another commit than they promise."""
    root = next(
        (r.event.root_commit for r in evidence.events if isinstance(r.event, CampaignStarted)), ""
    )
    for name, commit in sorted(found.items()):
        folder, _, last = name.rpartition("/")
        if folder == "refs/nodes" and last != commit:
            yield f"{name} shows {commit}"
        elif name == f"refs/heads/{BASELINE_BRANCH}" and root and commit != root:
            yield f"{name} shows {commit}, the campaign began at {root}"
        elif folder == "refs/replace":
            yield f"{name} puts {commit} in the place of a commit"
