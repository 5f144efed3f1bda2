"""What models cost: reservations count until they are reconciled, for role and action alike."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.core.spending import Amount, Payer, Spending
from arbor.events.base import Event
from arbor.events.model_calls import ModelCalled
from arbor.events.model_settings import CallBudget, ModelSettings, RoleSettings
from arbor.events.money import BudgetReserved, BudgetSpent
from tests.fakes.recording import START, record

CODER = Payer("coder", "a1")
MODELS = ModelSettings(default=RoleSettings(model="m"))


def _reserved(name: str, usd_micro: int = 100, num_tokens: int = 50, **fields: object) -> Event:
    chosen: dict[str, object] = {"role": "coder", "action_id": "a1", "max_latency_ms": 1000}
    return BudgetReserved.model_validate(
        {"reservation_id": name, "usd_micro": usd_micro, "num_tokens": num_tokens}
        | chosen
        | fields
    )


def _spent(name: str, usd_micro: int = 30, num_tokens: int = 20) -> Event:
    return BudgetSpent(reservation_id=name, usd_micro=usd_micro, num_tokens=num_tokens)


def _called(name: str) -> Event:
    return ModelCalled(
        role="coder",
        model="m",
        prompt_digest="0" * 64,
        reply_digest=None,
        num_prompt_tokens=0,
        num_completion_tokens=0,
        usd_micro=None,
        latency_ms=1.0,
        reservation_id=name,
    )


def _folded(*events: Event) -> Spending:
    spending = Spending()
    for position, event in enumerate(events, start=1):
        spending.apply(record(event, position))
    return spending


def test_a_reservation_counts_in_full_until_it_is_reconciled() -> None:
    spending = _folded(_reserved("r1"), _reserved("r2", role="critic", action_id="a2"))
    assert spending.total == Amount(100, 200)
    assert spending.by_role == {"coder": Amount(50, 100), "critic": Amount(50, 100)}
    spending.apply(record(_spent("r1"), 3))
    assert spending.total == Amount(70, 130)
    assert spending.by_role["coder"] == Amount(20, 30)
    assert spending.by_action == {"a1": Amount(20, 30), "a2": Amount(50, 100)}


def test_what_was_never_reserved_is_spent_all_the_same() -> None:
    assert _folded(_spent("r9")).total == Amount(20, 30)


def test_a_call_is_under_way_until_it_ends_or_its_time_is_over() -> None:
    spending = _folded(_reserved("r1"), _reserved("r2"), _reserved("r3"))
    assert spending.num_under_way(START) == 3
    spending.apply(record(_called("r1"), 4))
    spending.apply(record(_spent("r2"), 5))
    assert spending.num_under_way(START) == 1
    assert spending.num_under_way(START + timedelta(seconds=2)) == 0
    # it ended without a count: what was set aside for it stays spent
    assert spending.by_role["coder"] == Amount(50 + 20 + 50, 100 + 30 + 100)


@pytest.mark.parametrize(
    ("models", "usd", "words"),
    [
        (MODELS, 0.00014, ["$0.0001", "budget.usd"]),
        (MODELS.model_copy(update={"campaign": CallBudget(tokens=99)}), 1.0, ["models.campaign"]),
        (MODELS.model_copy(update={"action": CallBudget(usd=0.00015)}), 1.0, ["action a1"]),
        (
            ModelSettings(coder=RoleSettings(model="m", budget=CallBudget(tokens=60))),
            1.0,
            ["50 tokens", "10 left of 60", "models.coder.budget"],
        ),
    ],
)
def test_every_limit_refuses_with_its_name(
    models: ModelSettings, usd: float, words: list[str]
) -> None:
    spending = _folded(_reserved("r1"))
    refusal = spending.refusal(CODER, Amount(50, 100), models, usd)
    assert refusal is not None
    assert all(word in refusal for word in words)


def test_limits_of_others_do_not_refuse() -> None:
    models = ModelSettings(
        coder=RoleSettings(model="m", budget=CallBudget(tokens=0)),
        critic=RoleSettings(model="m"),
        action=CallBudget(tokens=100),
    )
    spending = _folded(_reserved("r1"), _reserved("r2"))
    assert spending.refusal(Payer("critic", "a2"), Amount(50, 100), models, 1.0) is None
    assert spending.refusal(Payer("critic", ""), Amount(500, 100), models, 1.0) is None


def test_what_costs_nothing_needs_no_money() -> None:
    assert _folded().refusal(CODER, Amount(50, 0), MODELS, 0.0) is None
    assert _folded().refusal(CODER, Amount(50, 1), MODELS, 0.0) is not None


def test_a_call_waits_for_others_only_where_they_may_give_enough_back() -> None:
    spending = _folded(_reserved("r1", usd_micro=900))
    asked = (CODER, Amount(50, 200), MODELS, 0.001)
    assert spending.refusal(*asked) is not None
    assert spending.may_fit_later(*asked, START)
    assert not spending.may_fit_later(*asked, START + timedelta(seconds=2))
    assert not spending.may_fit_later(CODER, Amount(50, 1001), MODELS, 0.001, START)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 200)), max_size=30))
def test_sums_by_role_never_differ_from_the_whole(steps: list[tuple[int, bool, int]]) -> None:
    spending, known = Spending(), dict[str, int]()
    for position, (number, is_reservation, amount) in enumerate(steps, start=1):
        name = f"r{number}"
        if is_reservation and name not in known:
            known[name] = amount
            spending.apply(record(_reserved(name, usd_micro=amount), position))
        elif not is_reservation and name in known:
            spending.apply(record(_spent(name, usd_micro=min(amount, known[name])), position))
            del known[name]
    assert sum(each.usd_micro for each in spending.by_role.values()) == spending.total.usd_micro
    assert spending.total.usd_micro >= 0
