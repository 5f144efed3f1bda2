"""Leases: many may share a host, one may have it alone, the dead hold nothing."""

import pytest

from arbor.core.leases import LeaseTable
from arbor.events.base import Event
from arbor.events.campaign import CampaignPaused, CampaignResumed
from arbor.events.life import IncarnationStarted, LeaseReleased, LeaseRequested, LeaseTaken
from arbor.events.work import SpecialistRetired
from tests.fakes.recording import feed

BORN = IncarnationStarted(process_id=1, host="h")


def _taken(lease: str, *, alone: bool = False, host: str = "h") -> LeaseTaken:
    return LeaseTaken(lease_id=lease, host=host, is_exclusive=alone, purpose="test")


def _asked(lease: str, host: str = "h") -> LeaseRequested:
    return LeaseRequested(lease_id=lease, host=host)


def _released(lease: str) -> LeaseReleased:
    return LeaseReleased(lease_id=lease, host="h")


def _table(*said: tuple[str, Event]) -> LeaseTable:
    table = LeaseTable()
    feed(table, said)
    return table


def _free(table: LeaseTable, host: str = "h") -> tuple[bool, bool]:
    """Return whether a new shared and a new exclusive lease may be taken."""
    return (
        table.can_take("new", host, exclusive=False),
        table.can_take("new", host, exclusive=True),
    )


def test_a_free_host_is_for_everybody() -> None:
    assert _free(_table()) == (True, True)


def test_shared_leases_share() -> None:
    table = _table(("s1", _taken("a")), ("s2", _taken("b")))
    assert _free(table) == (True, False)
    assert _free(table, "other") == (True, True)
    table = _table(("s1", _taken("a")), ("s2", _taken("b")), ("s1", _released("a")))
    assert _free(table) == (True, False)


def test_an_exclusive_lease_keeps_everybody_out() -> None:
    assert _free(_table(("bench", _taken("a", alone=True)))) == (False, False)
    released = _table(("bench", _taken("a", alone=True)), ("bench", _released("a")))
    assert _free(released) == (True, True)


def test_who_waits_is_not_starved() -> None:
    table = _table(("s1", _taken("a")), ("bench", _asked("b")))
    assert _free(table) == (False, False)
    assert not table.can_take("b", "h", exclusive=True)
    feed(table, [("s1", _released("a"))], first=3)
    assert table.can_take("b", "h", exclusive=True)
    feed(table, [("bench", _taken("b", alone=True)), ("bench", _released("b"))], first=4)
    assert _free(table) == (True, True)
    assert not table.waiting


def test_the_wait_can_be_given_up() -> None:
    assert _free(_table(("bench", _asked("b")), ("bench", _released("b")))) == (True, True)


def test_a_new_incarnation_voids_what_the_old_one_held_or_waited_for() -> None:
    table = _table(
        ("bench", _taken("a", alone=True)), ("bench", _asked("b", "other")), ("bench", BORN)
    )
    assert _free(table) == _free(table, "other") == (True, True)


def test_an_incarnation_of_another_actor_voids_nothing() -> None:
    table = _table(("bench", _taken("a", alone=True)), ("critic", BORN))
    assert _free(table) == (False, False)


def test_a_retired_specialist_holds_nothing() -> None:
    retired = SpecialistRetired(specialist_id="specialist-n001", reason="done")
    held = ("specialist-n001", _taken("a"))
    assert _free(_table(held, ("specialist-n001", retired))) == (True, True)


def test_the_driver_retires_a_specialist_whose_process_broke() -> None:
    retired = SpecialistRetired(specialist_id="specialist-n001", reason="its process broke")
    table = _table(
        ("specialist-n001", _taken("a")),
        ("specialist-n002", _taken("b")),
        ("supervisor", retired),
    )
    assert set(table.held) == {"b"}


def test_a_new_driver_voids_everything() -> None:
    table = _table(
        ("bench", _taken("a", alone=True)), ("s1", _asked("b", "other")), ("supervisor", BORN)
    )
    assert _free(table) == _free(table, "other") == (True, True)


@pytest.mark.parametrize("event", [CampaignPaused(reason="x"), CampaignResumed(reason="x")])
def test_who_measures_goes_on_through_a_pause_and_a_resumption(event: Event) -> None:
    assert _free(_table(("bench", _taken("a", alone=True)), ("human", event))) == (False, False)


DEVICES = ("n:0", "n:1")


def _devices(lease: str, *devices: str) -> LeaseTaken:
    return LeaseTaken(
        lease_id=lease, host="h", is_exclusive=True, purpose="test", devices=devices or DEVICES
    )


def _waits(lease: str, *devices: str) -> LeaseRequested:
    return LeaseRequested(lease_id=lease, host="h", devices=devices or DEVICES)


def _may(table: LeaseTable, lease: str, *devices: str) -> bool:
    return table.can_take(lease, "h", exclusive=True, devices=devices or DEVICES)


def test_devices_and_their_host_are_held_apart() -> None:
    assert _free(_table(("bench", _devices("a")))) == (True, True)
    assert _may(_table(("bench", _taken("a", alone=True))), "b")


def test_devices_have_one_user() -> None:
    table = _table(("bench", _devices("a")))
    assert not _may(table, "b")
    assert not _may(table, "b", "n:1", "n:2")
    assert _may(table, "b", "n:2", "n:3")
    assert _may(table, "b", "m:0"), "the same index of another node"


def test_devices_go_to_whoever_waited_longest() -> None:
    table = _table(
        ("bench", _devices("a")),
        ("s1", _waits("b")),
        ("s2", _waits("c")),
        ("bench", _released("a")),
    )
    assert not _may(table, "d"), "somebody was here before"
    assert not _may(table, "c")
    assert _may(table, "b")


def test_who_waits_for_other_devices_is_no_obstacle() -> None:
    assert _may(_table(("s1", _waits("b", "n:7"))), "d")


def test_the_holder_hears_of_others_who_wait() -> None:
    table = _table(("bench", _devices("a")), ("bench", _waits("b")))
    assert not table.is_waited_for(DEVICES, "bench")
    feed(table, [("s1", _waits("c", "n:1"))], first=3)
    assert table.is_waited_for(DEVICES, "bench")
    assert not table.is_waited_for(("n:0",), "bench")


def test_what_an_actor_holds() -> None:
    table = _table(("bench", _devices("a")), ("s1", _taken("b", alone=True)))
    assert table.holds("bench", DEVICES)
    assert table.holds("bench", ())
    assert not table.holds("bench", (*DEVICES, "n:2"))
    assert not table.holds_host_alone("bench")
    assert table.holds_host_alone("s1")


def test_what_a_lost_actor_held_or_waited_for_is_given_up_by_another() -> None:
    table = _table(("bench", _taken("a")), ("bench", _asked("b", "other")), ("s1", _taken("c")))
    feed(table, [("supervisor", event) for event in table.given_up_by("bench")], first=4)
    assert table.of("bench") == ()
    assert _free(table) == (True, False)
    assert _free(table, "other") == (True, True)
