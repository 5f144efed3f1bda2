"""No schedule of callers, races and kills spends more than there is."""

import random
from dataclasses import dataclass, field

import pytest

from arbor.actors.journal import Journal
from arbor.actors.models.accounts import Accounts, bound, charge
from arbor.actors.models.request import Answer, Options, Request
from arbor.core.clock import VirtualClock
from arbor.core.models import BudgetExhaustedError
from arbor.core.spending import Amount, Payer, Spending
from arbor.events.memory import MemoryLog
from arbor.events.model_calls import ModelCalled
from arbor.events.model_settings import CallBudget, ModelSettings, RoleSettings, TokenPrice
from arbor.events.money import BudgetReserved, BudgetSpent
from tests.fakes.mortal_log import Killed
from tests.fakes.racing_log import RacingLog

NUM_SCHEDULES = 1000
PRICE = TokenPrice(prompt_usd_per_million_tokens=2.0, completion_usd_per_million_tokens=8.0)
REQUEST = Request(({"role": "user", "content": "é" * 10},))
OPTIONS = Options(max_tokens=100, temperature=None, timeout_s=10.0)
MOST = bound(REQUEST, OPTIONS, PRICE)
ALL_USD_MICRO = 5 * MOST.usd_micro
ACTION_USD_MICRO = 2 * MOST.usd_micro + 7
CODER_TOKENS = 3 * MOST.num_tokens
ALL_TOKENS = 6 * MOST.num_tokens
SETTINGS = ModelSettings(
    default=RoleSettings(model="m"),
    coder=RoleSettings(model="m", budget=CallBudget(tokens=CODER_TOKENS)),
    action=CallBudget(usd=ACTION_USD_MICRO / 1e6),
    campaign=CallBudget(tokens=ALL_TOKENS),
    max_concurrent=3,
)


def called(reservation_id: str, payer: Payer) -> ModelCalled:
    """Return the event of a call."""
    return ModelCalled(
        role=payer.role,
        action_id=payer.action_id,
        model="m",
        prompt_digest="0" * 64,
        reply_digest=None,
        num_prompt_tokens=0,
        num_completion_tokens=0,
        usd_micro=None,
        latency_ms=1.0,
        reservation_id=reservation_id,
    )


@dataclass
class World:
    """A provider's own books, and processes that call it, die and are started again.

    Attributes:
        billed: what the provider was owed, by who paid.
    """

    draw: random.Random
    log: MemoryLog = field(init=False)
    calm: RacingLog = field(init=False)
    racing: RacingLog = field(init=False)
    clock: VirtualClock = field(default_factory=VirtualClock)
    billed: dict[Payer, Amount] = field(default_factory=dict)
    num_refused: int = 0
    _desks: dict[str, Accounts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log = MemoryLog("c", self.clock.now)
        self.calm = RacingLog(self.log, self.draw, race_ratio=0.0, death_ratio=0.0)
        self.racing = RacingLog(self.log, self.draw, race_ratio=0.3, death_ratio=0.15)

    def step(self) -> None:
        """Have one process make a call, with others in between, and perhaps die of it."""
        self.racing.let_in(self._call_undisturbed)
        self._attempt(self.racing)
        self.racing.let_in(None)
        self.clock.sleep(self.draw.choice([0.0, 1.0, 30.0]))

    def _call_undisturbed(self) -> None:
        self._attempt(self.calm)

    def _attempt(self, log: RacingLog) -> None:
        name = f"{self.draw.choice(['x', 'y', 'z'])} {'calm' if log is self.calm else 'racing'}"
        payer = Payer(self.draw.choice(["coder", "critic"]), self.draw.choice(["a1", "a2", "a3"]))
        try:
            if name not in self._desks:
                journal = Journal(log, name, self.clock)
                journal.catch_up()
                self._desks[name] = Accounts(journal, SETTINGS, ALL_USD_MICRO / 1e6)
            self._call(self._desks[name], payer)
        except BudgetExhaustedError:
            self.num_refused += 1
        except Killed:
            # the next of that name knows only the log
            self._desks.pop(name, None)

    def _call(self, accounts: Accounts, payer: Payer) -> None:
        reservation_id = accounts.reserve(payer, MOST, OPTIONS.timeout_s)
        tokens = self.draw.randint(1, MOST.num_tokens)
        cost = Amount(tokens, self.draw.randint(0, MOST.usd_micro))
        fate = self.draw.random()
        if fate < 0.1:
            raise Killed
        self.billed[payer] = self.billed.get(payer, Amount()) + cost
        if fate < 0.2:
            raise Killed
        accounts.settle(called(reservation_id, payer), None if fate < 0.3 else cost)


def _folded(log: MemoryLog) -> Spending:
    spending = Spending()
    for recorded in log.read():
        spending.apply(recorded)
    return spending


def test_no_schedule_of_callers_races_and_kills_overruns_a_budget() -> None:
    num_refused = num_deaths = num_races = num_billed = 0
    for seed in range(NUM_SCHEDULES):
        world = World(random.Random(seed))
        for _ in range(9):
            world.step()
        total = sum(world.billed.values(), Amount())
        coder = sum((a for p, a in world.billed.items() if p.role == "coder"), Amount())
        assert total.usd_micro <= ALL_USD_MICRO, seed
        assert total.num_tokens <= ALL_TOKENS, seed
        assert coder.num_tokens <= CODER_TOKENS, seed
        for action in ("a1", "a2", "a3"):
            own = sum((a for p, a in world.billed.items() if p.action_id == action), Amount())
            assert own.usd_micro <= ACTION_USD_MICRO, seed
        spending = _folded(world.log)
        # the log never knows less than the provider bills, and itself keeps to the limits
        assert spending.total.usd_micro >= total.usd_micro
        assert spending.total.usd_micro <= ALL_USD_MICRO
        assert spending.total.num_tokens <= ALL_TOKENS
        num_refused += world.num_refused
        num_deaths += world.racing.num_deaths
        num_races += world.racing.num_races
        num_billed += len(world.billed)
    # the schedules met what they are for
    assert min(num_refused, num_deaths, num_races, num_billed) > NUM_SCHEDULES // 10


def _accounts(log: MemoryLog, clock: VirtualClock, **settings: object) -> Accounts:
    # nobody waits in real time for a clock that stands still
    calm = RacingLog(log, random.Random(0), race_ratio=0.0, death_ratio=0.0)
    journal = Journal(calm, "specialist", clock)
    journal.catch_up()
    models = ModelSettings.model_validate({"default": "m", **settings})
    return Accounts(journal, models, 1.0)


def test_a_restart_remembers_a_reservation_whose_caller_died() -> None:
    clock = VirtualClock()
    log = MemoryLog("c", clock.now)
    payer, most = Payer("coder", "a1"), Amount(60, 0)
    first = _accounts(log, clock, action=CallBudget(tokens=100))
    first.reserve(payer, most, 10.0)
    clock.sleep(100.0)
    second = _accounts(log, clock, action=CallBudget(tokens=100))
    with pytest.raises(BudgetExhaustedError, match="40 left of 100"):
        second.reserve(payer, most, 10.0)
    assert [r.event.kind for r in log.read()] == ["BudgetReserved"]


def test_who_is_beyond_the_limit_of_calls_waits_until_a_dead_call_cannot_be_answered() -> None:
    clock = VirtualClock()
    log = MemoryLog("c", clock.now)
    started = clock.now()
    dead = _accounts(log, clock, max_concurrent=1)
    dead.reserve(Payer("coder"), Amount(1, 1), 10.0)
    _accounts(log, clock, max_concurrent=1).reserve(Payer("critic"), Amount(1, 1), 10.0)
    assert (clock.now() - started).total_seconds() >= 10.0
    assert sum(isinstance(r.event, BudgetReserved) for r in log.read()) == 2


def test_a_call_is_recorded_together_with_what_it_cost() -> None:
    clock = VirtualClock()
    log = MemoryLog("c", clock.now)
    accounts = _accounts(log, clock)
    payer = Payer("coder", "a1")
    reservation_id = accounts.reserve(payer, Amount(50, 90), 10.0)
    accounts.settle(called(reservation_id, payer), Amount(20, 30))
    kinds = [r.event.kind for r in log.read()]
    assert kinds == ["BudgetReserved", "ModelCalled", "BudgetSpent"]
    spent = next(r.event for r in log.read() if isinstance(r.event, BudgetSpent))
    assert (spent.num_tokens, spent.usd_micro, spent.action_id) == (20, 30, "a1")


def test_the_bound_holds_for_tokens_of_one_byte() -> None:
    most = bound(REQUEST, OPTIONS, PRICE)
    num_prompt = REQUEST.max_prompt_tokens()
    assert num_prompt >= len(REQUEST.text().encode())
    assert most == Amount(num_prompt + 100, 2 * num_prompt + 800)


@pytest.mark.parametrize(
    ("answer", "spent", "usage"),
    [
        (Answer("x", num_prompt_tokens=10, num_completion_tokens=3), Amount(13, 44), "reported"),
        (Answer("x"), None, "missing"),
        (Answer("x", num_prompt_tokens=0, num_completion_tokens=3), None, "missing"),
        (Answer("x", num_prompt_tokens=9, num_completion_tokens=0), None, "missing"),
        (
            Answer("x", num_prompt_tokens=10, num_completion_tokens=101),
            Amount(111, 828),
            "beyond_bound",
        ),
    ],
)
def test_a_servers_count_is_believed_where_it_can_be_true(
    answer: Answer, spent: Amount | None, usage: str
) -> None:
    assert charge(answer, REQUEST, OPTIONS, PRICE) == (spent, usage)
