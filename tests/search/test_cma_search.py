"""CMA-ES: the contract with every setting, and that it learns."""

import pytest

from arbor.events.types import Parameter
from arbor.search.base import Setup
from arbor.search.cma_search import CmaSearch
from arbor.search.engine import create_engine
from arbor.search.space import Space, values_of
from tests.contracts.search_engine import SearchEngineContract

PLANE = Space(tuple(Parameter(key=k, kind="float", low=-5.0, high=5.0) for k in ("x", "y")))


class TestCma(SearchEngineContract):
    """The library's population."""

    name = "cma"


class TestLargeCma(SearchEngineContract):
    """Twice the population."""

    name = "cma_large"


def _best(name: str, num: int) -> float:
    engine = create_engine(name, PLANE, 5)
    for _ in range(num):
        asked = engine.ask()
        x, y = (float(value) for value in values_of(asked).values())
        engine.tell(asked, -((x - 1.5) ** 2) - 10 * (y + 2) ** 2)
    best = engine.best()
    assert best is not None
    x, y = (float(value) for value in values_of(best).values())
    return (x - 1.5) ** 2 + 10 * (y + 2) ** 2


@pytest.mark.parametrize("name", ["cma", "cma_wide", "cma_local", "cma_large"])
def test_every_setting_converges_on_a_bowl(name: str) -> None:
    assert _best(name, 250) < 1e-3 < _best("random", 250)


def test_a_space_of_choices_is_climbed_too() -> None:
    """Four of 4,096 points are best; the strategy finds one in 300 trials."""
    blocks = tuple(
        Parameter(key=k, kind="categorical", choices=(16, 32, 64, 128, 256, 512, 1024, 2048))
        for k in ("m", "n", "k")
    )
    mode = Parameter(key="mode", kind="categorical", choices=("a", "b", "c", "d"))
    engine = CmaSearch(Setup(Space((*blocks, mode)), 2))
    values = []
    for _ in range(300):
        asked = engine.ask()
        held = values_of(asked)
        value = -sum(abs(int(held[k]).bit_length() - 8) for k in ("m", "n", "k"))
        values.append(value + (held["mode"] == "c"))
        engine.tell(asked, values[-1])
    assert max(values) == 1
    assert sum(values[-50:]) / 50 > sum(values[:50]) / 50 + 1
