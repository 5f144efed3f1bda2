"""A worker's hold on the log: incarnations, conditions, leases."""

import threading

import pytest

from arbor.actors.journal import Journal
from arbor.core.clock import SystemClock, VirtualClock
from arbor.events.campaign import CampaignPaused
from arbor.events.errors import ConflictError, FencedError
from arbor.events.life import HealthReported, IncarnationStarted, LeaseReleased, LeaseTaken
from arbor.events.memory import MemoryLog

HEALTH = HealthReported(subject="x", is_healthy=True, detail="fine")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def log(clock: VirtualClock) -> MemoryLog:
    return MemoryLog("c", clock.now)


def _born(log: MemoryLog, name: str, clock: VirtualClock | SystemClock) -> Journal:
    journal = Journal(log, name, clock)
    journal.start()
    return journal


def test_announces_itself_before_it_acts(log: MemoryLog, clock: VirtualClock) -> None:
    journal = _born(log, "bench", clock)
    journal.append(HEALTH)
    first, second = log.read()
    assert isinstance(first.event, IncarnationStarted)
    assert (first.incarnation, second.incarnation) == (1, 1)
    assert journal.position == 1, "it folds what is in the log, not what it appends"
    assert journal.catch_up() == 1
    assert journal.state.position == 2


def test_a_successor_fences_it(log: MemoryLog, clock: VirtualClock) -> None:
    old = _born(log, "bench", clock)
    new = _born(log, "bench", clock)
    with pytest.raises(FencedError):
        old.append(HEALTH)
    new.append(HEALTH)
    assert [r.incarnation for r in log.read()] == [1, 2, 2]
    _born(log, "critic", clock)
    new.append(HEALTH)


def test_starting_again_is_a_new_incarnation(log: MemoryLog, clock: VirtualClock) -> None:
    journal = _born(log, "bench", clock)
    journal.start()
    journal.append(HEALTH)
    assert [r.incarnation for r in log.read()] == [1, 2, 2]


def test_a_condition_is_held_against_what_was_folded(log: MemoryLog, clock: VirtualClock) -> None:
    journal = _born(log, "bench", clock)
    _born(log, "supervisor", clock).append(CampaignPaused(reason="x"))
    watching = frozenset({"campaign"})
    with pytest.raises(ConflictError):
        journal.append(HEALTH, watching=watching)
    journal.append(HEALTH)
    journal.catch_up()
    journal.append(HEALTH, watching=watching)


def test_a_decision_says_what_it_was_made_from(log: MemoryLog, clock: VirtualClock) -> None:
    journal = _born(log, "critic", clock)
    clock.sleep(1.0)
    at = clock.now()
    clock.sleep(1.0)
    journal.decide([HEALTH], frozenset(), at)
    last = list(log.read())[-1]
    assert (last.decided_after, last.decided_at) == (1, at)
    assert next(iter(log.read())).decided_after is None


def test_events_of_one_append_have_names_of_their_own(log: MemoryLog, clock: VirtualClock) -> None:
    _born(log, "bench", clock).append(HEALTH, HEALTH, HEALTH)
    assert len({r.event_id for r in log.read()}) == 4


def test_a_lease_is_taken_and_given_back(log: MemoryLog, clock: VirtualClock) -> None:
    journal = _born(log, "bench", clock)
    with journal.lease("h", "benchmark", exclusive=True, action_id="a1"):
        assert [v.is_exclusive for v in journal.state.leases.held.values()] == []
        journal.catch_up()
        (held,) = journal.state.leases.held.values()
        assert (held.holder, held.is_exclusive) == ("bench", True)
    assert not journal.state.leases.held
    taken, released = [r.event for r in log.read()][1:]
    assert isinstance(taken, LeaseTaken)
    assert isinstance(released, LeaseReleased)
    assert (taken.purpose, taken.action_id, taken.lease_id) == (
        "benchmark",
        "a1",
        released.lease_id,
    )


def test_a_lease_is_given_back_when_the_work_fails(log: MemoryLog, clock: VirtualClock) -> None:
    journal = _born(log, "bench", clock)
    with pytest.raises(ValueError, match="no"), journal.lease("h", "x", exclusive=True):
        raise ValueError("no")
    assert not journal.state.leases.held


def test_specialists_share_a_host(log: MemoryLog, clock: VirtualClock) -> None:
    first, second = _born(log, "s1", clock), _born(log, "s2", clock)
    with first.lease("h", "x", exclusive=False), second.lease("h", "x", exclusive=False):
        second.catch_up()
        assert len(second.state.leases.held) == 2


def test_a_measurement_waits_for_the_host_and_keeps_new_work_out() -> None:
    """Three actors in threads: the bench waits for one specialist and is not passed by another."""
    clock = SystemClock()
    log = MemoryLog("c", clock.now)
    order: list[str] = []

    def bench() -> None:
        with _born(log, "bench", clock).lease("h", "benchmark", exclusive=True):
            order.append("bench")

    def late() -> None:
        with _born(log, "late", clock).lease("h", "screening", exclusive=False):
            order.append("late")

    workers = [threading.Thread(target=bench), threading.Thread(target=late)]
    early = _born(log, "early", clock)
    with early.lease("h", "screening", exclusive=False):
        workers[0].start()
        position = log.head().position
        while not any(r.event.kind == "LeaseRequested" for r in log.read()):
            assert log.wait_beyond(position, timeout_s=30)
            position = log.head().position
        workers[1].start()
        while not any(r.actor == "late" for r in log.read()):
            assert log.wait_beyond(position, timeout_s=30)
            position = log.head().position
        order.append("early")
    for worker in workers:
        worker.join(timeout=30)
    assert order == ["early", "bench", "late"]


def test_a_dead_holder_does_not_block_its_successor(log: MemoryLog, clock: VirtualClock) -> None:
    dead = _born(log, "bench", clock)
    dead.append(LeaseTaken(lease_id="l", host="h", is_exclusive=True, purpose="benchmark"))
    with _born(log, "bench", clock).lease("h", "benchmark", exclusive=True):
        pass
    with pytest.raises(FencedError):
        dead.append(LeaseReleased(lease_id="l", host="h"))


def test_a_replaced_incarnation_stays_replaced(log: MemoryLog, clock: VirtualClock) -> None:
    """One that was paused may read of its successor before it appends; it must not become it."""
    old, new = _born(log, "bench", clock), _born(log, "bench", clock)
    old.catch_up()
    with pytest.raises(FencedError):
        old.append(HEALTH)
    new.append(HEALTH)
