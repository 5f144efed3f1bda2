"""The tree over points: the contract, that it learns, and whom it varies."""

from collections import Counter

from arbor.events.types import Parameter
from arbor.search.advice import Question
from arbor.search.advisers import MutatorAdviser, ScriptedAdviser
from arbor.search.base import AskTell, Setup
from arbor.search.mcts import AdvisedMctsSearch, MctsSearch
from arbor.search.random_search import RandomSearch
from arbor.search.space import Point, Space, values_of
from tests.contracts.search_engine import SearchEngineContract

PLANE = Space(tuple(Parameter(key=k, kind="float", low=0.0, high=1.0) for k in ("x", "y")))


class TestMcts(SearchEngineContract):
    """With the mutator."""

    name = "mcts"


class TestAdvisedMcts(SearchEngineContract):
    """With an adviser."""

    name = "llm_mcts"


def value_of(point: Point) -> float:
    x, y = (float(value) for value in values_of(point).values())
    return -abs(x - 0.8) - abs(y - 0.3)


def run(engine: AskTell, num: int) -> list[float]:
    values = []
    for _ in range(num):
        asked = engine.ask()
        values.append(value_of(asked))
        engine.tell(asked, values[-1])
    return values


def test_it_comes_nearer_than_chance() -> None:
    found = [max(run(MctsSearch(Setup(PLANE, seed)), 80)) for seed in range(8)]
    by_chance = [max(run(RandomSearch(Setup(PLANE, seed)), 80)) for seed in range(8)]
    assert sum(found) > 0.6 * sum(by_chance)


def test_the_scale_of_values_does_not_matter() -> None:
    plain, scaled = MctsSearch(Setup(PLANE, 1)), MctsSearch(Setup(PLANE, 1))
    for _ in range(30):
        asked = plain.ask()
        assert scaled.ask() == asked
        plain.tell(asked, value_of(asked))
        scaled.tell(asked, 1e6 * value_of(asked) + 5)


def test_good_parents_have_more_children_and_the_root_keeps_some() -> None:
    parents: list[float | None] = []

    def vary(question: Question) -> list[Point]:
        parents.append(None if question.parent is None else question.parent.value)
        return list(MutatorAdviser(0).advise(question))

    engine = AdvisedMctsSearch(Setup(PLANE, 0, adviser=ScriptedAdviser("vary", vary)))
    values = run(engine, 100)
    middle = sorted(values)[50]
    kinds = Counter("root" if p is None else "good" if p > middle else "bad" for p in parents)
    assert kinds["good"] > 2 * kinds["bad"]
    assert 2 <= kinds["root"] <= 10


def test_pending_points_spread_parallel_asks() -> None:
    parents = []

    def vary(question: Question) -> list[Point]:
        parents.append(question.parent)
        return list(MutatorAdviser(0).advise(question))

    engine = AdvisedMctsSearch(Setup(PLANE, 0, adviser=ScriptedAdviser("vary", vary)))
    run(engine, 12)
    parents.clear()
    for _ in range(8):
        engine.ask()
    assert len({None if p is None else p.point for p in parents}) > 2
