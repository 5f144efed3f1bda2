"""Requests: the first result of the latest attempt wins."""

import pytest

from arbor.core.requests import Request, Requests
from arbor.events.base import Event
from arbor.events.choice import ActionWithdrawn
from arbor.events.evidence import AccuracyMeasured, PairMeasured
from arbor.events.judgement import MeasurementFlagged, MeasurementJudged
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import Crashed
from arbor.events.requests import MeasurementRequested
from arbor.events.work import AttemptStarted
from tests.fakes.accuracy import accuracy_sample
from tests.fakes.recording import feed
from tests.fakes.stage import window

ASKED = MeasurementRequested(
    action_id="a1",
    request_id="r1",
    purpose="accuracy",
    node_id="n1",
    parent_commit="c",
    incumbent_commit="b",
    seed=1,
)


def _attempt(number: int) -> AttemptStarted:
    return AttemptStarted(
        action_id="a1", attempt_id=f"r1.{number}", attempt=number, request_id="r1"
    )


def _result(number: int, kl: float = 0.0) -> AccuracyMeasured:
    return AccuracyMeasured(
        action_id="a1",
        attempt_id=f"r1.{number}",
        request_id="r1",
        node_id="n1",
        commit="c",
        sample=accuracy_sample(kl),
    )


def _pair(number: int, attempt: int) -> PairMeasured:
    return PairMeasured(
        attempt_id=f"r1.{attempt}",
        request_id="r1",
        node_id="n1",
        commit="c",
        pair=number,
        start=1,
        is_candidate_first=True,
        candidate=window(1.0),
        incumbent=window(1.0),
        log_ratio=0.0,
    )


def _crash(action_id: str | None = "a1") -> Crashed:
    return Crashed(action_id=action_id, phase="accuracy", message="x", request_id="r1")


def _request(*events: Event) -> Request:
    requests = Requests()
    feed(requests, [ASKED, *events])
    return requests.by_id["r1"]


def test_is_open_until_there_is_evidence() -> None:
    assert _request().is_open
    assert _request(_attempt(1)).is_open
    assert not _request(_attempt(1), _result(1)).is_open


def test_the_first_result_of_the_latest_attempt_wins() -> None:
    request = _request(_attempt(1), _result(1, 0.1), _result(1, 0.2))
    assert request.result == _result(1, 0.1)
    assert request.result_position == 3


def test_a_result_of_an_older_attempt_is_stale() -> None:
    request = _request(_attempt(1), _attempt(2), _result(1, 0.1))
    assert request.is_open
    assert request.num_attempts == 2
    request = _request(_attempt(1), _attempt(2), _result(1, 0.1), _result(2, 0.2))
    assert request.result == _result(2, 0.2)


def test_a_result_without_an_attempt_counts_for_nothing() -> None:
    assert _request(_result(1)).is_open


def test_a_new_attempt_begins_without_pairs() -> None:
    request = _request(
        _attempt(1), _pair(1, 1), _pair(2, 1), _attempt(2), _pair(3, 1), _pair(1, 2)
    )
    assert request.pairs == [_pair(1, 2)]


def test_a_crash_closes_it() -> None:
    request = _request(_attempt(1), _crash())
    assert not request.is_open
    assert request.crash == _crash()


def test_a_crash_after_the_result_changes_nothing() -> None:
    request = _request(_attempt(1), _result(1), _crash())
    assert request.crash is None
    assert request.result == _result(1)


@pytest.mark.parametrize(
    "end",
    [
        ActionVetoed(action_id="a1", reason="x", by="human"),
        ActionWithdrawn(action_id="a1", reason="x"),
    ],
)
def test_the_end_of_its_action_cancels_it(end: Event) -> None:
    request = _request(_attempt(1), end)
    assert request.is_cancelled
    assert not request.is_open
    assert not _request(_attempt(1), _result(1), end).is_cancelled


def test_the_end_of_another_action_does_not_cancel_it() -> None:
    assert _request(ActionWithdrawn(action_id="a2", reason="x")).is_open


def test_no_action_is_no_name() -> None:
    """A veto without an action must not cancel the requests about settled nodes."""
    requests = Requests()
    feed(requests, [ASKED.model_copy(update={"action_id": None})])
    feed(requests, [ActionVetoed(reason="x", by="human")], first=2)
    assert requests.by_id["r1"].is_open


def test_flags_and_judgement_are_kept() -> None:
    flag = MeasurementFlagged(request_id="r1", rule="x", severity="note", evidence="e")
    judged = MeasurementJudged(
        request_id="r1", purpose="accuracy", is_accepted=True, reason="fine"
    )
    request = _request(_attempt(1), _result(1), flag, judged)
    assert request.flags == [flag]
    assert request.judgement == judged


def test_requests_are_found_by_node_in_order() -> None:
    requests = Requests()
    other = ASKED.model_copy(update={"request_id": "r2", "node_id": "n2"})
    third = ASKED.model_copy(update={"request_id": "r3"})
    feed(requests, [ASKED, other, third])
    assert [r.asked.request_id for r in requests.of_node("n1")] == ["r1", "r3"]
    assert [r.asked.request_id for r in requests.open()] == ["r1", "r2", "r3"]
