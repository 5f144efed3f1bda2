"""TPE: the contract, and that it learns."""

from arbor.events.types import Parameter
from arbor.search.engine import create_engine
from tests.contracts.search_engine import SearchEngineContract


class TestTpe(SearchEngineContract):
    """Optuna's sampler behind ask and tell."""

    name = "tpe"


def _late_distance(name: str, seed: int) -> float:
    """Return the mean distance of late asks from the optimum at 0.7."""
    engine = create_engine(name, (Parameter(key="k", kind="float", low=0.0, high=1.0),), seed)
    distances = []
    for _ in range(30):
        (edit,) = asked = engine.ask()
        distance = abs(float(edit.value) - 0.7)
        distances.append(distance)
        engine.tell(asked, -distance)
    return sum(distances[-10:]) / 10


def test_asks_nearer_to_the_optimum_than_chance() -> None:
    learnt = sum(_late_distance("tpe", seed) for seed in range(8))
    by_chance = sum(_late_distance("random", seed) for seed in range(8))
    assert learnt < 0.6 * by_chance


def test_failures_are_learnt_from_too() -> None:
    """Half of the space fails; the estimator must still ask for valid points and improve."""
    engine = create_engine("tpe", (Parameter(key="k", kind="float", low=0.0, high=1.0),), 1)
    for _ in range(30):
        (edit,) = asked = engine.ask()
        value = float(edit.value)
        engine.tell(asked, None if value > 0.5 else value)
    best = engine.best()
    assert best is not None
    assert 0.4 < float(best[0].value) <= 0.5
