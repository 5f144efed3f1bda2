"""What holds in every log, whatever was killed: read from the events alone, without a fold."""

from collections import Counter
from pathlib import Path

from arbor.core.layout import CampaignDirectory
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignEnded
from arbor.events.choice import ActionDispatched, ActionWithdrawn
from arbor.events.evidence import PairMeasured
from arbor.events.judgement import MeasurementJudged
from arbor.events.life import IncarnationStarted, LeaseReleased, LeaseTaken
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.requests import MeasurementRequested
from arbor.events.work import AttemptStarted, SpecialistRetired, TrialMeasured
from tests.system.campaigns import arbor, only, read_log

_OUTCOMES = (ActionKept, ActionReverted, Crashed, ActionWithdrawn, ActionVetoed)


def require_sound(directory: Path, *seen: list[Recorded]) -> list[Recorded]:
    """Check the log of an ended campaign; return it.

    Args:
        directory: the campaign's directory.
        seen: the log as it was read at earlier moments; all of it must still be there.

    Raises:
        AssertionError: something was lost, done twice or done at the wrong time.
    """
    recorded = read_log(directory)
    assert [r.position for r in recorded] == list(range(1, len(recorded) + 1))
    assert len({r.event_id for r in recorded}) == len(recorded)
    for earlier in seen:
        assert recorded[: len(earlier)] == earlier, "what was read once never changes"
    assert isinstance(recorded[-1].event, CampaignEnded)
    _require_once(recorded)
    _require_leases(recorded)
    audit = arbor("audit", directory)
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert CampaignDirectory(directory).report_html.exists()
    return recorded


def _require_once(recorded: list[Recorded]) -> None:
    """Check that no effect happened twice, and that every dispatch had one outcome."""
    kept = Counter(event.node_id for event in only(recorded, ActionKept))
    judged = Counter(event.request_id for event in only(recorded, MeasurementJudged))
    asked = Counter(event.request_id for event in only(recorded, MeasurementRequested))
    attempts = Counter(event.attempt_id for event in only(recorded, AttemptStarted))
    pairs = Counter((e.attempt_id, e.pair, e.start) for e in only(recorded, PairMeasured))
    trials = Counter((e.action_id, e.attempt_id, e.trial) for e in only(recorded, TrialMeasured))
    for counted in (kept, judged, asked, attempts, pairs, trials):
        assert set(counted.values()) <= {1}, counted.most_common(3)
    assert set(judged) <= set(asked)
    dispatches = Counter(event.action_id for event in only(recorded, ActionDispatched))
    kept_actions = {event.action_id for event in only(recorded, ActionKept)}
    outcomes = Counter(
        r.event.action_id
        for r in recorded
        if isinstance(r.event, _OUTCOMES)
        and r.event.action_id in dispatches
        # A veto of a keep is no second outcome: the keep is revoked.
        and not (isinstance(r.event, ActionVetoed) and r.event.action_id in kept_actions)
    )
    assert outcomes == dispatches


def _require_leases(recorded: list[Recorded]) -> None:
    """Check that the bench was alone whenever it measured a pair, and devices had one user."""
    held: dict[str, tuple[str, bool]] = {}
    devices: dict[str, tuple[str, set[str]]] = {}
    for each in recorded:
        event = each.event
        if isinstance(event, LeaseTaken) and event.devices:
            taken = {*event.devices}
            assert not any(taken & others for _, others in devices.values()), f"{event} {devices}"
            devices[event.lease_id] = each.actor, taken
        elif isinstance(event, LeaseTaken):
            held[event.lease_id] = each.actor, event.is_exclusive
            is_alone = any(is_exclusive for _, is_exclusive in held.values())
            assert len(held) == 1 or not is_alone, f"{event} overlaps {held}"
        elif isinstance(event, LeaseReleased):
            held.pop(event.lease_id, None)
            devices.pop(event.lease_id, None)
        elif isinstance(event, IncarnationStarted) and each.actor == "supervisor":
            # A new driver: all were ended with the one before.
            held, devices = {}, {}
        elif isinstance(event, IncarnationStarted | SpecialistRetired):
            # Whoever held it is dead, or done.
            gone = event.specialist_id if isinstance(event, SpecialistRetired) else each.actor
            held = {key: value for key, value in held.items() if value[0] != gone}
            devices = {key: value for key, value in devices.items() if value[0] != gone}
        elif isinstance(event, PairMeasured):
            assert list(held.values()) == [("bench", True)], f"{each.position}: {held}"


def most_at_work(recorded: list[Recorded]) -> int:
    """Return how many specialists were between their start and their retirement at once."""
    at_work: set[str] = set()
    most = 0
    for each in recorded:
        if isinstance(each.event, AttemptStarted) and each.event.request_id is None:
            at_work.add(each.actor)
        elif isinstance(each.event, SpecialistRetired):
            at_work.discard(each.actor)
        most = max(most, len(at_work))
    return most
