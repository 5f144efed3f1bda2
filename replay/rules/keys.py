"""Two keys: the Orchestrator keeps only what the Critic accepted."""

from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.events.base import Recorded
from arbor.events.evidence import AccuracyMeasured, BenchmarkMeasured
from arbor.events.judgement import MeasurementJudged
from arbor.events.outcome import ActionKept
from arbor.events.work import PatchProposed
from arbor.replay.rules.base import Evidence, Findings


class KeepsNeedTwoKeys:
    """PatchProposed, accepted accuracy, benchmark, accepted judgement, then the keep."""

    name = "two_keys"
    title = "every keep follows a patch, an accepted accuracy and an accepted benchmark"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Look behind every keep."""
        patches: dict[str, int] = {}
        judged: dict[str, Recorded] = {}
        for recorded, state in evidence.walk():
            event = recorded.event
            if isinstance(event, PatchProposed):
                patches[event.action_id or ""] = recorded.position
            elif isinstance(event, MeasurementJudged):
                judged[event.request_id] = recorded
            elif isinstance(event, ActionKept):
                problem = _missing(recorded, event, state, patches, judged)
                findings.require(problem is None, recorded.position, problem or "")


def _missing(
    recorded: Recorded,
    keep: ActionKept,
    state: CampaignState,
    patches: dict[str, int],
    judged: dict[str, Recorded],
) -> str | None:
    """Return what a keep lacks, or None."""
    name = f"the keep of {keep.node_id}"
    if recorded.actor != "orchestrator":
        return f"{name} was appended by {recorded.actor!r}, not by the orchestrator"
    patched_at = patches.get(keep.action_id or "")
    if patched_at is None:
        return f"{name} has no PatchProposed"
    order = [patched_at]
    for purpose, kind in (("accuracy", AccuracyMeasured), ("benchmark", BenchmarkMeasured)):
        request = state.measurement_of(keep.node_id, purpose)
        if request is None or not isinstance(request.result, kind):
            return f"{name} has no result for {purpose}"
        verdict = judged.get(request.asked.request_id)
        if verdict is None or request.judgement is None:
            return f"{name} has no judgement of {purpose}"
        if verdict.actor != "critic" or not request.judgement.is_accepted:
            return f"{name} has no {purpose} that the critic accepted"
        if request.result.commit != keep.commit:
            return f"{name} names another commit than its {purpose} measured"
        order += [request.position, request.result_position, verdict.position]
    if order != sorted(order):
        return f"{name} rests on events in the wrong order: {order}"
    return _mismatch(name, keep, state.measurement_of(keep.node_id, "benchmark"), state)


def _mismatch(
    name: str, keep: ActionKept, request: Request | None, state: CampaignState
) -> str | None:
    if request is None or not isinstance(request.result, BenchmarkMeasured):
        return f"{name} has no benchmark"
    parent = state.tree.node(keep.parent_id)
    if request.result.effect != keep.effect:
        return f"{name} claims another effect than was measured"
    if request.result.incumbent_commit != (parent.commit or state.root_commit):
        return f"{name} was not measured against its parent {keep.parent_id}"
    if request.asked.edits != keep.edits:
        return f"{name} has other edits than were measured"
    return None
