"""Centaur: the contract, exact turns, the adviser's record, and failures that stay visible."""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from arbor.events.errors import InvalidInputError
from arbor.events.types import Parameter
from arbor.search.advice import AdviceError, Adviser, Question
from arbor.search.advisers import EchoAdviser, ScriptedAdviser, StuckAdviser
from arbor.search.base import Setup
from arbor.search.centaur import AdaptiveCentaurSearch, CentaurSearch
from arbor.search.cma_search import CmaSearch
from arbor.search.space import Point, Space, values_of
from tests.contracts.search_engine import SearchEngineContract

PLANE = Space(tuple(Parameter(key=k, kind="float", low=-5.0, high=5.0) for k in ("x", "y")))
BEST = PLANE.point({"x": 2.0, "y": -3.0})


class TestCentaur(SearchEngineContract):
    """With an adviser that knows nothing."""

    name = "centaur"


class TestAdaptiveCentaur(SearchEngineContract):
    """The share follows the record."""

    name = "centaur_adaptive"


class Listening:
    """Records what it was asked and gives one point again and again."""

    name = "listening"

    def __init__(self, point: Point | None) -> None:
        self.questions: list[Question] = []
        self._point = point

    def advise(self, question: Question) -> Sequence[Point]:
        self.questions.append(question)
        assert question.optimiser is not None
        return [self._point or question.optimiser.suggestion]


def value_of(point: Point) -> float:
    x, y = (float(value) for value in values_of(point).values())
    return -((x - 2.0) ** 2) - (y + 3.0) ** 2


def run(engine: CentaurSearch, num: int) -> list[Point]:
    asked = []
    for _ in range(num):
        asked.append(engine.ask())
        engine.tell(asked[-1], value_of(asked[-1]))
    return asked


@pytest.mark.parametrize(("share", "num"), [("0", 0), ("1/3", 30), ("3/10", 27), ("1", 90)])
def test_the_adviser_has_exactly_its_share(share: str, num: int) -> None:
    adviser = Listening(BEST)
    engine = CentaurSearch(Setup(PLANE, 0, adviser=adviser), Fraction(share))
    run(engine, 90)
    assert len(adviser.questions) == engine.record.num_turns == num


def test_turns_are_spread_evenly() -> None:
    adviser = Listening(BEST)
    run(CentaurSearch(Setup(PLANE, 0, adviser=adviser), Fraction(1, 3)), 12)
    assert [question.number for question in adviser.questions] == [2, 5, 8, 11]


def test_a_useless_adviser_costs_its_turns_and_no_more() -> None:
    setup = Setup(PLANE, 3, adviser=StuckAdviser())
    corner = StuckAdviser().advise(Question(PLANE, ()))[0]
    centaur, alone = CentaurSearch(setup), CmaSearch(setup)
    own = [each for each in run(centaur, 100) if each != corner]
    assert len(own) == 70
    for each in own:
        assert alone.ask() == each
        alone.tell(each, value_of(each))


def test_an_adviser_that_says_nothing_new_leaves_the_strategy_alone() -> None:
    centaur = CentaurSearch(Setup(PLANE, 3, adviser=EchoAdviser(0)))
    alone = CmaSearch(Setup(PLANE, 3))
    known: set[Point] = set()
    for each in run(centaur, 100):
        if each in known:
            continue
        known.add(each)
        assert alone.ask() == each
        alone.tell(each, value_of(each))
    assert len(known) == 70


def test_a_good_adviser_helps() -> None:
    near = ScriptedAdviser("near", lambda q: [PLANE.point({"x": 1.9, "y": -2.9})] * q.num)
    helped, stuck = (
        CentaurSearch(Setup(PLANE, 3, adviser=adviser)) for adviser in (near, StuckAdviser())
    )
    run(helped, 24)
    run(stuck, 24)
    values = [max(told.value or -99 for told in engine.history) for engine in (helped, stuck)]
    assert values[0] > values[1]


def test_the_adviser_sees_the_strategy_and_may_agree_with_it() -> None:
    adviser = Listening(None)
    centaur = CentaurSearch(Setup(PLANE, 3, adviser=adviser))
    alone = CmaSearch(Setup(PLANE, 3))
    for each in run(centaur, 40):
        assert alone.ask() == each
        alone.tell(each, value_of(each))
    assert len(adviser.questions) == 12
    last = adviser.questions[-1].optimiser
    assert last is not None
    assert last.mean == pytest.approx((0.7, 0.2), abs=0.05)


@pytest.mark.parametrize(
    ("points", "message"),
    [([], "gave 0 points"), ([BEST, BEST], "gave 2 points"), ([BEST[:1]], "point has keys")],
)
def test_an_adviser_that_fails_is_an_error_and_costs_no_turn(
    points: list[Point], message: str
) -> None:
    engine = CentaurSearch(
        Setup(PLANE, 0, adviser=ScriptedAdviser("broken", lambda _: points)), Fraction(1)
    )
    for _ in range(2):
        with pytest.raises(AdviceError, match=message):
            engine.ask()
    assert engine.num_turns == 0
    assert engine.record.num_turns == 0


def test_a_restored_search_asks_for_no_advice_again() -> None:
    first = CentaurSearch(Setup(PLANE, 3, adviser=Listening(BEST)))
    run(first, 25)
    adviser = Listening(BEST)
    second = CentaurSearch(Setup(PLANE, 3, adviser=adviser))
    for told in first.history:
        second.tell(told.point, told.value)
    assert adviser.questions == []
    assert second.record == first.record
    assert run(second, 10) == run(first, 10)


@pytest.mark.parametrize(
    ("adviser", "least", "most"), [(StuckAdviser(), 0.03, 0.08), (Listening(BEST), 0.5, 0.6)]
)
def test_trust_follows_the_record(adviser: Adviser, least: float, most: float) -> None:
    engine = AdaptiveCentaurSearch(Setup(PLANE, 0, adviser=adviser))
    assert engine.share() == Fraction(3, 10)
    run(engine, 120)
    assert least <= engine.share() <= most


def test_the_record_counts_bests_and_repeats() -> None:
    engine = CentaurSearch(Setup(PLANE, 0, adviser=Listening(BEST)))
    run(engine, 40)
    record = engine.record
    assert (record.num_turns, record.num_best, record.num_repeats) == (12, 1, 11)
    assert record.worth > Fraction(9, 10)


def test_an_impossible_share_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="outside 0"):
        CentaurSearch(Setup(PLANE, 0, adviser=StuckAdviser()), Fraction(3, 2))
