"""One interface for all search engines: ask for a point, tell its value."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.events.types import Parameter
from arbor.search.advice import Adviser
from arbor.search.base import DEFAULT_BUDGET, Setup
from arbor.search.space import Point, Space


class Engine(Protocol):
    """Maximises a value over a typed space; all state can be rebuilt by telling it again."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    def ask(self) -> Point:
        """Return the next point to try; asking again before telling gives further ones.

        Raises:
            InvalidInputError: no point keeps the rules of the space.
            AdviceError: an adviser gave no point of the space; the turn can be asked for again.
        """
        ...

    def tell(self, point: Point, value: float | None) -> None:
        """Report the value of a point, asked for or not; None when the trial failed.

        Raises:
            ValueError: the point does not lie in the space, or the value is not finite.
        """
        ...

    def best(self) -> Point | None:
        """Return the best point told so far; None before a trial succeeded."""
        ...


ENGINES: Mapping[str, str] = {
    "random": "arbor.search.random_search:RandomSearch",
    "tpe": "arbor.search.tpe:TpeSearch",
    "cma": "arbor.search.cma_search:CmaSearch",
    "cma_wide": "arbor.search.cma_search:WideCmaSearch",
    "cma_local": "arbor.search.cma_search:LocalCmaSearch",
    "cma_large": "arbor.search.cma_search:LargeCmaSearch",
    "ngopt": "arbor.search.ngopt:NgoptSearch",
    "centaur": "arbor.search.centaur:CentaurSearch",
    "centaur_adaptive": "arbor.search.centaur:AdaptiveCentaurSearch",
    "llm": "arbor.search.advised:AdvisedSearch",
    "llm_mcts": "arbor.search.mcts:AdvisedMctsSearch",
    "mcts": "arbor.search.mcts:MctsSearch",
}
"""Classes by name; imported when used, so that a library only matters to those who use it."""

ADVISED = frozenset({"centaur", "centaur_adaptive", "llm", "llm_mcts"})
"""Engines that need an adviser."""


def create_engine(
    name: str,
    space: Space | Sequence[Parameter],
    seed: int,
    first: Sequence[Point] = (),
    *,
    budget: int = DEFAULT_BUDGET,
    adviser: Adviser | None = None,
) -> Engine:
    """Return a search engine by name.

    Args:
        name: registered name.
        space: parameters, with rules or without.
        seed: equal seeds and tells give equal asks.
        first: points to ask for before the engine's own.
        budget: trials that are planned; some engines choose their method by it.
        adviser: whom hybrid engines ask.

    Raises:
        NotFoundError: no engine has that name.
        InvalidInputError: its library is not installed, or it needs an adviser.
    """
    if name not in ENGINES:
        raise NotFoundError(f"no search engine {name!r}; known: {', '.join(ENGINES)}")
    if name in ADVISED and adviser is None:
        raise InvalidInputError(f"search engine {name} needs an adviser, such as a model")
    module, _, attribute = ENGINES[name].partition(":")
    try:
        maker = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"search engine {name} needs {error.name}: pip install 'arbor-inference[search]'"
        ) from error
    engine: Engine = maker(Setup(Space.of(space), seed, tuple(first), budget, adviser))
    return engine


def restore(engine: Engine, told: Sequence[tuple[Point, float | None]]) -> Engine:
    """Tell a new engine what an earlier one was told, and return it; nothing is asked.

    Raises:
        ValueError: a point does not lie in the space.
    """
    for point, value in told:
        engine.tell(point, value)
    return engine
