"""Attempts, waits and fallbacks; each is recorded, and paid at most as reserved."""

from pathlib import Path

import pytest

from arbor.actors.models.recorded import Recordings
from arbor.actors.models.request import Answer, CallFailedError, Request
from arbor.core.models import (
    BudgetExhaustedError,
    ModelUnavailableError,
    RecordedReplyMissingError,
)
from arbor.core.spending import Payer
from arbor.events.model_calls import CallOutcome, ModelCalled
from arbor.events.model_settings import ModelSettings
from arbor.events.money import BudgetReserved, BudgetSpent
from tests.fakes.model_desk import ModelDesk
from tests.fakes.provider import ScriptedProvider, Step, answer

REQUEST = Request(({"role": "user", "content": "x"},))
CODER = Payer("coder", "a1")
SETTINGS = ModelSettings.model_validate(
    {"coder": {"model": "m", "fallbacks": ["spare"]}, "max_attempts": 3, "backoff_s": 2.0}
)


def _desk(folder: Path, *script: Step, campaign_usd: float = 1.0) -> ModelDesk:
    provider = ScriptedProvider(script)
    return ModelDesk(folder, provider, SETTINGS, campaign_usd=campaign_usd)


def _calls(desk: ModelDesk) -> list[tuple[str, str, int]]:
    return [(call.model, call.outcome, call.attempt) for call in desk.events(ModelCalled)]


def test_passing_failures_are_repeated_after_growing_waits(tmp_path: Path) -> None:
    failure = CallFailedError("server_error", "boom")
    desk = _desk(tmp_path, failure, failure, answer("x"))
    started = desk.clock.now()
    assert desk.caller.call(CODER, REQUEST, 1).answer.text == "x"
    waited_s = (desk.clock.now() - started).total_seconds()
    assert 1.0 + 2.0 <= waited_s <= 2.0 + 4.0
    assert _calls(desk) == [
        ("m", "server_error", 1),
        ("m", "server_error", 2),
        ("m", "answered", 3),
    ]
    assert desk.events(ModelCalled)[0].failure == "boom"


def test_a_wait_that_was_asked_for_is_kept(tmp_path: Path) -> None:
    desk = _desk(tmp_path, CallFailedError("rate_limited", "slow", 17.0), answer("x"))
    started = desk.clock.now()
    desk.caller.call(CODER, REQUEST, 1)
    assert (desk.clock.now() - started).total_seconds() >= 17.0


def test_a_wait_that_is_too_long_leads_to_the_fallback_at_once(tmp_path: Path) -> None:
    desk = _desk(tmp_path, CallFailedError("rate_limited", "tomorrow", 9000.0), answer("x"))
    started = desk.clock.now()
    desk.caller.call(CODER, REQUEST, 1)
    assert desk.clock.now() == started
    assert _calls(desk) == [("m", "rate_limited", 1), ("spare", "answered", 2)]


def test_a_rejected_request_is_not_repeated_but_the_fallback_is_asked(tmp_path: Path) -> None:
    desk = _desk(tmp_path, CallFailedError("rejected", "no such model"), answer("x"))
    desk.caller.call(CODER, REQUEST, 1)
    assert _calls(desk) == [("m", "rejected", 1), ("spare", "answered", 2)]


def test_when_nothing_answers_every_model_is_named(tmp_path: Path) -> None:
    desk = _desk(tmp_path, CallFailedError("unreachable", "refused"))
    with pytest.raises(ModelUnavailableError, match=r"6 attempts: m \(unreachable: .*spare"):
        desk.caller.call(CODER, REQUEST, 1)
    assert len(desk.events(ModelCalled)) == 6


@pytest.mark.parametrize(
    ("outcome", "is_paid"),
    [
        ("rate_limited", False),
        ("server_error", False),
        ("unreachable", False),
        ("timed_out", True),
        ("cut", True),
    ],
)
def test_only_what_the_provider_may_have_worked_on_is_paid(
    tmp_path: Path, outcome: CallOutcome, *, is_paid: bool
) -> None:
    desk = _desk(tmp_path, CallFailedError(outcome, "x"), answer("x"))
    desk.caller.call(CODER, REQUEST, 1)
    first, second = desk.events(BudgetReserved)
    given_back = {spent.reservation_id: spent.usd_micro for spent in desk.events(BudgetSpent)}
    assert given_back.get(first.reservation_id) == (None if is_paid else 0)
    assert given_back[second.reservation_id] == 60
    desk.journal.catch_up()
    spent = desk.journal.state.budget.usd_micro_spent
    assert spent == 60 + (first.usd_micro if is_paid else 0)
    assert desk.events(ModelCalled)[0].usd_micro == (None if is_paid else 0)


def test_a_call_that_could_cost_too_much_is_not_made(tmp_path: Path) -> None:
    desk = _desk(tmp_path, answer("x"), campaign_usd=0.01)
    with pytest.raises(BudgetExhaustedError, match=r"budget\.usd"):
        desk.caller.call(CODER, REQUEST, 1)
    assert not desk.events(BudgetReserved)
    assert not desk.events(ModelCalled)


def test_a_server_that_counts_wildly_stops_the_calls(tmp_path: Path) -> None:
    wild = Answer("x", num_prompt_tokens=10, num_completion_tokens=10**6)
    desk = _desk(tmp_path, wild)
    desk.caller.call(CODER, REQUEST, 1)
    assert desk.events(ModelCalled)[0].usage == "beyond_bound"
    with pytest.raises(BudgetExhaustedError):
        desk.caller.call(CODER, REQUEST, 1)


def test_recorded_replies_come_back_in_their_order_and_cost_nothing(tmp_path: Path) -> None:
    live = _desk(tmp_path, answer("one"), CallFailedError("cut", "x"), answer("two"))
    other = Request(({"role": "user", "content": "y"},))
    for request in (REQUEST, REQUEST):
        live.caller.call(CODER, request, 1)
    recordings = Recordings(live.log.read(), live.blobs)
    silent = ScriptedProvider([CallFailedError("rejected", "nobody may be asked")])
    again = ModelDesk(tmp_path, silent, SETTINGS, campaign_usd=0.0, recordings=recordings)
    texts = [again.caller.call(CODER, REQUEST, 1).answer.text for _ in range(2)]
    assert texts == ["one", "two"]
    with pytest.raises(RecordedReplyMissingError, match="use 3"):
        again.caller.call(CODER, REQUEST, 1)
    with pytest.raises(RecordedReplyMissingError, match="0 replies"):
        again.caller.call(CODER, other, 1)
    with pytest.raises(RecordedReplyMissingError):
        again.caller.call(Payer("critic", "a1"), REQUEST, 1)
    assert silent.asked == []
    assert [(c.is_replayed, c.usd_micro) for c in again.events(ModelCalled)] == [(True, 0)] * 2
    assert not again.events(BudgetReserved)


def test_a_replay_of_a_replay_is_the_same(tmp_path: Path) -> None:
    live = _desk(tmp_path, answer("one"))
    live.caller.call(CODER, REQUEST, 1)
    silent = ScriptedProvider([CallFailedError("rejected", "nobody may be asked")])
    first = ModelDesk(
        tmp_path, silent, SETTINGS, recordings=Recordings(live.log.read(), live.blobs)
    )
    first.caller.call(CODER, REQUEST, 1)
    second = Recordings(first.log.read(), first.blobs)
    digest = first.events(ModelCalled)[0].prompt_digest
    assert second.take(CODER, digest)[1] == second_answer(live, digest)


def second_answer(desk: ModelDesk, digest: str) -> Answer:
    """Return what a log holds for a prompt."""
    return Recordings(desk.log.read(), desk.blobs).take(CODER, digest)[1]


def test_actions_with_equal_prompts_take_their_own_replies(tmp_path: Path) -> None:
    live = _desk(tmp_path, answer("for one"), answer("for two"))
    live.caller.call(Payer("coder", "a1"), REQUEST, 1)
    live.caller.call(Payer("coder", "a2"), REQUEST, 1)
    digest = live.events(ModelCalled)[0].prompt_digest
    recordings = Recordings(live.log.read(), live.blobs)
    assert recordings.take(Payer("coder", "a2"), digest)[1].text == "for two"
    assert recordings.take(Payer("coder", "a1"), digest)[1].text == "for one"
    assert recordings.take(Payer("coder", "a9"), digest)[1].text == "for one"
