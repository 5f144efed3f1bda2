"""NGOpt: the contract, and that it learns."""

from arbor.events.types import Parameter
from arbor.search.engine import create_engine
from arbor.search.space import Space, values_of
from tests.contracts.search_engine import SearchEngineContract

PLANE = Space(tuple(Parameter(key=k, kind="float", low=-5.0, high=5.0) for k in ("x", "y")))


class TestNgopt(SearchEngineContract):
    """Nevergrad's choice."""

    name = "ngopt"


def test_a_small_budget_takes_a_sequential_method_that_may_still_be_asked_ahead() -> None:
    engine = create_engine("ngopt", PLANE, 1, budget=20)
    ahead = [engine.ask() for _ in range(4)]
    assert len(set(ahead)) == 4
    for number in range(40):
        asked = ahead.pop(0) if ahead else engine.ask()
        PLANE.check(asked)
        engine.tell(asked, -float(number))
    engine.tell(PLANE.point({"x": 1.0, "y": 1.0}), 5.0)
    assert engine.best() == PLANE.point({"x": 1.0, "y": 1.0})


def _best(name: str) -> float:
    engine = create_engine(name, PLANE, 1, budget=60)
    values = []
    for _ in range(60):
        asked = engine.ask()
        x, y = (float(value) for value in values_of(asked).values())
        values.append(-((x - 1.5) ** 2) - (y + 2) ** 2)
        engine.tell(asked, values[-1])
    return max(values)


def test_it_beats_chance_on_a_bowl() -> None:
    assert _best("ngopt") > -0.05 > _best("random")
