"""Random search: the contract, and that it is uniform on each scale."""

from collections import Counter

from arbor.events.types import Parameter
from arbor.search.base import Setup
from arbor.search.random_search import RandomSearch
from arbor.search.space import Space
from tests.contracts.search_engine import SearchEngineContract


class TestRandomSearch(SearchEngineContract):
    """The control."""

    name = "random"


def _draws(parameter: Parameter, num: int = 3000) -> list[float]:
    engine = RandomSearch(Setup(Space((parameter,)), seed=5))
    return [float(engine.ask()[0].value) for _ in range(num)]


def test_whole_numbers_are_equally_likely() -> None:
    counts = Counter(_draws(Parameter(key="k", kind="int", low=0, high=3)))
    assert set(counts) == {0.0, 1.0, 2.0, 3.0}
    assert min(counts.values()) > 0.8 * 3000 / 4


def test_a_logarithmic_range_is_uniform_in_its_logarithm() -> None:
    draws = _draws(Parameter(key="k", kind="float", low=0.01, high=100.0, log=True))
    assert 0.45 < sum(draw < 1.0 for draw in draws) / len(draws) < 0.55


def test_does_not_listen() -> None:
    space = (Parameter(key="k", kind="float", low=0.0, high=1.0),)
    told, untold = (RandomSearch(Setup(Space(space), 1)) for _ in range(2))
    for number in range(5):
        asked = told.ask()
        assert asked == untold.ask()
        told.tell(asked, float(number))
