"""The judges of a storm find what they are for."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from arbor.events.base import Event, Recorded
from arbor.events.life import IncarnationStarted, LeaseReleased, LeaseTaken
from arbor.events.work import TrialMeasured
from tests.chaos.storm import doubles, gaps, overlaps

BEGUN = IncarnationStarted(process_id=1, host="h")


def recorded(position: int, event: Event, actor: str = "a", incarnation: int = 1) -> Recorded:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Recorded(
        position, f"e{position}", now, "c", actor, incarnation, 1, None, None, 0, event
    )


def trial(number: int) -> TrialMeasured:
    return TrialMeasured(trial=number, edits=(), throughput_tok_s=1.0, engine="chaos")


def taken(lease_id: str) -> LeaseTaken:
    return LeaseTaken(lease_id=lease_id, host="h", is_exclusive=True, purpose="x")


def test_gaps() -> None:
    first, second = recorded(1, trial(1)), recorded(2, trial(2))
    assert gaps([first, second]) == []
    assert gaps([second]) == ["positions have gaps"]
    assert gaps([first, replace(second, event_id="e1")]) == ["an event is stored twice"]
    assert gaps([replace(first, epoch=2), second]) == ["a writer went on after its successor"]


@pytest.mark.parametrize("numbers", [(1, 1), (1, 3), (2,), (2, 1)])
def test_doubles(numbers: tuple[int, ...]) -> None:
    good = [recorded(at, trial(at)) for at in (1, 2, 3)]
    assert doubles(good) == []
    bad = [recorded(at, trial(number)) for at, number in enumerate(numbers, start=1)]
    assert len(doubles(bad)) == 1


def test_a_dead_incarnation_that_goes_on() -> None:
    log = [recorded(1, BEGUN), recorded(2, BEGUN, incarnation=2), recorded(3, trial(1))]
    assert "went on after its successor at 3" in doubles(log)[0]


def test_overlaps() -> None:
    mine, other = recorded(1, taken("l1")), recorded(3, taken("l2"), actor="b")
    given_back = recorded(2, LeaseReleased(lease_id="l1", host="h"))
    assert overlaps([mine, given_back, other]) == []
    assert overlaps([mine, other]) == ["the host was taken twice at 3"]
    assert overlaps([mine, recorded(2, BEGUN, incarnation=2), other]) == []
