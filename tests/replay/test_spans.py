"""Time under leases is work on the stack, the rest is Arbor's own, downtime is nobody's."""

import pytest

from arbor.core.budget import Budget
from arbor.core.clock import VirtualClock
from arbor.events.base import Draft, Event
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed, CampaignStarted
from arbor.events.ids import uuid7
from arbor.events.life import HealthReported, IncarnationStarted, LeaseReleased, LeaseTaken
from arbor.events.memory import MemoryLog
from arbor.events.settings import Settings
from arbor.replay.spans import OWN, TimeSpent
from tests.replay.recorded import HARDWARE

STARTED = CampaignStarted(
    name="n",
    target="t",
    target_config="{}",
    settings=Settings(),
    actions=(),
    hardware=HARDWARE,
    root_commit="",
    root_config="{}",
    arbor_version="0",
)


class Spent:
    """Appends events at chosen seconds and folds both clocks of a campaign."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.log = MemoryLog("c", self.clock.now)
        self.time, self.budget = TimeSpent(), Budget()

    def then(self, wait_s: float, event: Event, actor: str = "supervisor") -> None:
        self.clock.sleep(wait_s)
        self.log.append([Draft(event, uuid7(self.clock.now()), actor)])
        for recorded in self.log.read(after=self.log.head().position - 1):
            self.time.apply(recorded)
            self.budget.apply(recorded)


def lease(name: str, purpose: str, *, exclusive: bool = False) -> LeaseTaken:
    return LeaseTaken(lease_id=name, host="h", is_exclusive=exclusive, purpose=purpose)


def released(name: str) -> LeaseReleased:
    return LeaseReleased(lease_id=name, host="h")


def incarnation() -> IncarnationStarted:
    return IncarnationStarted(process_id=1, host="h")


def test_leases_and_own_time_add_up() -> None:
    spent = Spent()
    spent.then(5, STARTED)
    spent.then(2, lease("a", "benchmark", exclusive=True), "bench")
    spent.then(10, released("a"), "bench")
    spent.then(3, CampaignEnded(reason="r", node_id="n000"))
    assert spent.time.seconds == {OWN: 5.0, "benchmark": 10.0}
    assert spent.time.overhead_ratio == pytest.approx(1 / 3)
    assert spent.time.wall_s == spent.budget.elapsed_s(spent.clock.now()) == 15.0


def test_time_is_divided_among_leases() -> None:
    spent = Spent()
    spent.then(0, STARTED)
    spent.then(0, lease("a", "screening"), "specialist-n001")
    spent.then(0, lease("b", "accuracy"), "bench")
    spent.then(10, released("a"), "specialist-n001")
    spent.then(4, released("b"), "bench")
    assert spent.time.seconds == {"screening": 5.0, "accuracy": 9.0}
    assert spent.time.overhead_ratio == 0.0


def test_downtime_counts_for_nothing() -> None:
    spent = Spent()
    spent.then(0, STARTED)
    spent.then(1, lease("a", "benchmark", exclusive=True), "bench")
    spent.then(6, HealthReported(subject="s", is_healthy=True, detail=""), "bench")
    # The driver is killed here; the next one announces itself an hour later.
    spent.then(3600, incarnation())
    spent.then(1, incarnation())
    spent.then(0, CampaignResumed(reason="r"))
    spent.then(2, CampaignEnded(reason="r", node_id="n000"))
    spent.then(500, incarnation())
    assert spent.time.seconds["benchmark"] == 6.0
    assert spent.time.seconds[OWN] == 3.0
    assert spent.time.num_sessions == 2
    assert spent.budget.elapsed_s(spent.clock.now()) == 9.0


def test_a_pause_counts_for_nothing_and_what_is_measured_goes_on() -> None:
    spent = Spent()
    spent.then(0, STARTED)
    spent.then(1, lease("a", "benchmark", exclusive=True), "bench")
    spent.then(4, CampaignPaused(reason="lunch"), "human:ann")
    spent.then(600, HealthReported(subject="s", is_healthy=True, detail=""), "bench")
    spent.then(1, CampaignResumed(reason="back"), "human:ann")
    spent.then(3, released("a"), "bench")
    spent.then(2, CampaignEnded(reason="r", node_id="n000"))
    assert spent.time.seconds == {OWN: 3.0, "benchmark": 7.0}
    assert spent.budget.elapsed_s(spent.clock.now()) == 10.0


def test_leases_of_a_dead_worker_are_void() -> None:
    spent = Spent()
    spent.then(0, STARTED)
    spent.then(0, lease("a", "benchmark"), "bench")
    spent.then(4, incarnation(), "bench")
    spent.then(6, CampaignEnded(reason="r", node_id="n000"))
    assert spent.time.seconds == {"benchmark": 4.0, OWN: 6.0}


def test_nothing_happened() -> None:
    assert TimeSpent().overhead_ratio == 0.0
    assert TimeSpent().wall_s == 0.0
