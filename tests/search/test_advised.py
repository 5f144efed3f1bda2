"""LLM as optimiser: the contract, and that the adviser sees the whole table."""

from arbor.events.types import Parameter
from arbor.search.advice import Question
from arbor.search.advised import AdvisedSearch
from arbor.search.advisers import ScriptedAdviser
from arbor.search.base import Setup
from arbor.search.space import Point, Space, values_of
from tests.contracts.search_engine import SearchEngineContract

LINE = Space((Parameter(key="x", kind="float", low=0.0, high=1.0),))


class TestAdvised(SearchEngineContract):
    """With an adviser that knows nothing."""

    name = "llm"


def test_an_adviser_that_reads_the_table_climbs() -> None:
    def between_the_best(question: Question) -> list[Point]:
        known = sorted(question.history, key=lambda told: -(told.value or -9))[:2]
        places = [float(values_of(told.point)["x"]) for told in known]
        ends = [*places, 0.0, 1.0][:2]
        return [LINE.point({"x": sum(ends) / 2 + 0.01 * (-1) ** question.number})]

    engine = AdvisedSearch(Setup(LINE, 0, adviser=ScriptedAdviser("between", between_the_best)))
    for number in range(20):
        asked = engine.ask()
        assert len(engine.history) == number
        engine.tell(asked, -abs(float(values_of(asked)["x"]) - 0.47))
    best = engine.best()
    assert best is not None
    assert abs(float(values_of(best)["x"]) - 0.47) < 0.02
