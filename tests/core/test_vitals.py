"""Signs of life, failures in a row, reports: what health is told from."""

from arbor.core.tree import Tree
from arbor.core.vitals import Failure, Vitals
from arbor.events.base import Event
from arbor.events.causes import CauseGroup, Fault
from arbor.events.choice import ActionProposed, ActionWithdrawn
from arbor.events.judgement import KeepRevoked, RootCauseFound
from arbor.events.life import HealthReported, LeaseReleased, LeaseTaken
from arbor.events.settings import Settings
from arbor.events.work import AttemptStarted, PatchProposed
from tests.fakes.recording import record
from tests.fakes.stage import started, template


def _after(*events: Event) -> Vitals:
    """Return the vitals after events, one a second, about a campaign of actions a1 and a2."""
    tree, vitals = Tree(), Vitals()
    proposals = [
        ActionProposed(action_id=f"a{i}", template_id=name, node_id="n000", reason="new")
        for i, name in enumerate(("x", "y"), start=1)
    ]
    head: list[Event] = [started((template("x"), template("y")), Settings()), *proposals]
    for position, event in enumerate([*head, *events], start=1):
        recorded = record(event, position)
        tree.apply(recorded)
        vitals.apply(recorded, tree, float(position))
    return vitals


def _failed(action_id: str, cause: str, fault: Fault = "environment") -> RootCauseFound:
    group: CauseGroup = "unknown"
    return RootCauseFound(
        action_id=action_id,
        cause=cause,
        cause_group=group,
        blames_idea=fault == "idea",
        evidence=(),
        confidence_ratio=1.0,
        remedy="",
        fault=fault,
    )


def test_the_latest_event_about_an_action_is_its_sign_of_life() -> None:
    report = HealthReported(action_id="a1", subject="a1", is_healthy=False, detail="silent")
    vitals = _after(_failed("a2", "x"), report)
    assert vitals.sign_s == {"a1": 2.0, "a2": 4.0}, "a report about it is none"


def test_leases_that_change_hands_are_a_sign_of_life() -> None:
    taken = LeaseTaken(lease_id="l", host="h", is_exclusive=True, purpose="p")
    assert _after(taken).lease_s == 4.0
    assert _after(taken, LeaseReleased(lease_id="l", host="h")).lease_s == 5.0


def test_failures_of_the_place_are_counted_until_something_succeeds() -> None:
    failed = (_failed("a1", "disk_full"), _failed("a2", "disk_full", "unknown"))
    assert _after(*failed).failures == [Failure("disk_full", "x"), Failure("disk_full", "y")]
    assert (
        _after(_failed("a1", "oom", "implementation"), _failed("a1", "no", "idea")).failures == []
    )
    patch = PatchProposed(
        action_id="a1",
        node_id="n000",
        base_commit="",
        commit="",
        edits=(),
        diff_digest="",
        validation="",
    )
    assert _after(*failed, patch).failures == []


def test_undone_work_is_counted_until_it_is_reported() -> None:
    stalled = ActionWithdrawn(action_id="a2", reason="stall: silent")
    asked = ActionWithdrawn(action_id="a2", reason="budget: 3 s left")
    revoked = KeepRevoked(action_id="a2", node_id="n000", reason="vetoed")
    assert _after(stalled, asked, revoked).num_undone == {"y": 2}
    report = HealthReported(condition="thrash", subject="y", is_healthy=False, detail="")
    assert not _after(stalled, revoked, report).num_undone


def test_a_report_stands_until_its_end_is_reported() -> None:
    ill = HealthReported(condition="disk", subject="h", is_healthy=False, detail="full")
    well = ill.model_copy(update={"is_healthy": True})
    assert _after(ill).is_reported("disk", "h")
    assert not _after(ill).is_reported("disk", "other")
    assert not _after(ill, well).is_reported("disk", "h")
    plain = HealthReported(subject="cluster", is_healthy=False, detail="a node is gone")
    assert not _after(plain).reports


def test_recovery_waits_for_the_next_attempt() -> None:
    ill = HealthReported(
        condition="crash_loop",
        subject="disk_full",
        is_healthy=False,
        detail="",
        recovery=("free_disk", "clear_caches"),
    )
    again = ill.model_copy(update={"recovery": ("free_disk", "end_leftovers")})
    assert _after(ill, again).recovery == ("free_disk", "clear_caches", "end_leftovers")
    assert _after(ill, AttemptStarted(action_id="a1", attempt=1)).recovery == ()
