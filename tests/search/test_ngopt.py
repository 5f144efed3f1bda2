"""NGOpt: the contract, and that it learns."""

from arbor.events.types import Parameter
from arbor.search.engine import create_engine
from arbor.search.space import Space, values_of
from tests.contracts.search_engine import SearchEngineContract

PLANE = Space(tuple(Parameter(key=k, kind="float", low=-5.0, high=5.0) for k in ("x", "y")))


class TestNgopt(SearchEngineContract):
    """Nevergrad's choice."""

    name = "ngopt"


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
