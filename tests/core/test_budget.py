"""The budget: active time only, reservations count until they are reconciled."""

from datetime import timedelta

import pytest

from arbor.core.budget import Budget
from arbor.events.base import Event
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed
from arbor.events.choice import ActionDispatched
from arbor.events.life import IncarnationStarted, LeaseReleased
from arbor.events.money import BudgetReserved, BudgetSpent
from arbor.events.settings import BudgetSettings, Settings
from tests.fakes.recording import START, record
from tests.fakes.stage import started

BEGUN = started((), Settings(budget=BudgetSettings(wall_s=100.0, usd=1.0)))
BORN = IncarnationStarted(process_id=1, host="h")
SEEN = LeaseReleased(lease_id="l", host="h")


def _budget(*said: tuple[float, Event], actor: str = "supervisor") -> Budget:
    budget = Budget()
    for number, (at_s, event) in enumerate(said, start=1):
        budget.apply(record(event, number, at_s=at_s, actor=actor))
    return budget


def _elapsed_s(budget: Budget, at_s: float) -> float:
    return budget.elapsed_s(START + timedelta(seconds=at_s))


def test_nothing_passes_before_the_start() -> None:
    assert _elapsed_s(_budget((0.0, BORN)), 50.0) == 0.0
    assert _elapsed_s(_budget((0.0, BORN), (20.0, BEGUN)), 50.0) == 30.0


def test_time_runs_from_the_start() -> None:
    budget = _budget((0.0, BEGUN))
    assert budget.remaining_s(START + timedelta(seconds=30)) == 70.0
    assert budget.remaining_s(START + timedelta(seconds=130)) == -30.0


@pytest.mark.parametrize("is_announced", [False, True])
def test_time_without_a_driver_is_free(*, is_announced: bool) -> None:
    """A driver announces itself before it resumes; that must not count the night before."""
    announced = ((3600.0, BORN),) if is_announced else ()
    budget = _budget((0.0, BEGUN), (40.0, SEEN), *announced, (3601.0, CampaignResumed(reason="x")))
    assert _elapsed_s(budget, 3611.0) == pytest.approx(50.0, abs=1.0)


def test_a_worker_that_is_born_again_stops_no_clock() -> None:
    budget = _budget((0.0, BEGUN), (10.0, SEEN))
    budget.apply(record(BORN, 3, at_s=40.0, actor="bench"))
    assert _elapsed_s(budget, 50.0) == 50.0


def test_a_paused_campaign_that_is_resumed_goes_on_where_it_was() -> None:
    budget = _budget(
        (0.0, BEGUN),
        (30.0, CampaignPaused(reason="x")),
        (1000.0, BORN),
        (1000.0, CampaignResumed(reason="x")),
    )
    assert _elapsed_s(budget, 1005.0) == 35.0


def test_a_pause_stops_the_clock_for_whoever_still_works() -> None:
    said = [(0.0, BEGUN), (30.0, CampaignPaused(reason="x")), (90.0, SEEN)]
    assert _elapsed_s(_budget(*said), 500.0) == 30.0
    budget = _budget(*said, (600.0, CampaignResumed(reason="x")))
    assert _elapsed_s(budget, 605.0) == 35.0


def test_an_ended_campaign_spends_nothing_until_it_is_resumed() -> None:
    said = [(0.0, BEGUN), (80.0, CampaignEnded(reason="x", node_id="n000")), (85.0, SEEN)]
    assert _elapsed_s(_budget(*said), 500.0) == 80.0
    budget = _budget(
        *said, (900.0, BORN), (900.0, CampaignResumed(reason="more", added_wall_s=60.0))
    )
    assert budget.wall_s == 160.0
    assert budget.remaining_s(START + timedelta(seconds=910)) == 70.0


def test_a_clock_that_ran_backwards_gives_no_time_back() -> None:
    assert _elapsed_s(_budget((10.0, BEGUN)), 0.0) == 0.0


def test_dispatches_are_trials() -> None:
    dispatched = ActionDispatched(
        action_id="a1",
        node_id="n1",
        parent_id="n0",
        parent_commit="c",
        template_id="t",
        specialist="config",
        edits=(),
        brief="",
    )
    assert _budget((0.0, BEGUN), (1.0, dispatched), (2.0, dispatched)).num_trials == 2


def test_a_reservation_counts_as_spent_until_it_is_reconciled() -> None:
    reserved = BudgetReserved(reservation_id="r1", usd_micro=500, wall_ms=2000)
    budget = _budget((0.0, BEGUN), (1.0, reserved))
    assert (budget.usd_micro_spent, budget.reserved_s()) == (500, 2.0)
    budget.apply(record(BudgetSpent(reservation_id="r1", usd_micro=120), 3))
    assert (budget.usd_micro_spent, budget.reserved_s()) == (120, 0.0)


def test_spending_without_a_reservation_counts_in_full() -> None:
    spent = BudgetSpent(reservation_id="r9", usd_micro=70)
    assert _budget((0.0, BEGUN), (1.0, spent)).usd_micro_spent == 70


def test_a_second_reconciliation_cannot_give_money_back() -> None:
    budget = _budget(
        (0.0, BEGUN),
        (1.0, BudgetReserved(reservation_id="r1", usd_micro=500)),
        (2.0, BudgetSpent(reservation_id="r1", usd_micro=400)),
        (3.0, BudgetSpent(reservation_id="r1", usd_micro=400)),
    )
    assert budget.usd_micro_spent >= 400
