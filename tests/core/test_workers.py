"""What incarnations say: devices, and attempts that ended with their process."""

from arbor.core.workers import Workers
from arbor.events.base import Event
from arbor.events.life import IncarnationStarted
from arbor.events.work import AttemptStarted, SpecialistRetired
from tests.fakes.recording import feed

NAME = "specialist-n001"


def _born(process_id: int, *devices: str) -> tuple[str, Event]:
    return NAME, IncarnationStarted(process_id=process_id, host="h", devices=devices)


def _at_work(attempt: int) -> tuple[str, Event]:
    return NAME, AttemptStarted(attempt_id=f"n001.{attempt}", attempt=attempt)


def _deaths(*said: tuple[str, Event]) -> list[str]:
    workers = Workers()
    feed(workers, said)
    return [str(death) for death in workers.deaths.get(NAME, [])]


def test_the_latest_incarnation_has_the_devices() -> None:
    workers = Workers()
    feed(workers, [_born(1, "a:0", "a:1"), _born(2, "b:4")])
    assert workers.devices == {NAME: ("b:4",)}


def test_an_attempt_that_ended_with_its_process_is_a_death() -> None:
    assert _deaths(_born(7), _at_work(1), _born(8), _at_work(2), _born(9)) == [
        "attempt n001.1 ended with process 7 on h",
        "attempt n001.2 ended with process 8 on h",
    ]


def test_a_process_that_ended_without_work_is_none() -> None:
    assert _deaths(_born(7), _born(8), _at_work(1)) == []


def test_who_retired_was_not_killed_by_work() -> None:
    retired = SpecialistRetired(specialist_id=NAME, reason="done")
    assert _deaths(_born(7), _at_work(1), (NAME, retired), _born(8)) == []


def test_a_lost_node_is_nobodys_fault() -> None:
    lost = SpecialistRetired(specialist_id=NAME, reason="its node was lost")
    assert _deaths(_born(7), _at_work(1), ("supervisor", lost), _born(8)) == []


def test_the_end_of_the_driver_is_nobodys_fault() -> None:
    driver = ("supervisor", IncarnationStarted(process_id=1, host="h"))
    assert _deaths(_born(7), _at_work(1), driver, _born(8)) == []


def test_the_benchs_attempts_are_counted_with_its_requests() -> None:
    attempt = ("bench", AttemptStarted(attempt_id="r1.1", attempt=1, request_id="r1"))
    born = ("bench", IncarnationStarted(process_id=1, host="h"))
    workers = Workers()
    feed(workers, [born, attempt, born])
    assert workers.deaths == {}
