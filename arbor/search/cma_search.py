"""CMA-ES behind ask and tell, with the starts that are worth comparing."""

from typing import ClassVar

from arbor.search.base import AskTell, Setup
from arbor.search.space import Point
from arbor.search.strategy import CmaSettings, EvolutionStrategy


class CmaSearch(AskTell):
    """The library's population and a first step of a quarter of each range."""

    name: ClassVar[str] = "cma"
    settings: ClassVar[CmaSettings] = CmaSettings()

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._strategy = EvolutionStrategy(setup.space, setup.seed, self.settings)

    def _propose(self, number: int, attempt: int) -> Point:  # noqa: ARG002 - it keeps count itself
        return self._strategy.take()

    def _learn(self, point: Point, value: float | None) -> None:
        self._strategy.learn(point, value)


class WideCmaSearch(CmaSearch):
    """A first step of a third of each range, the most that the library allows between bounds."""

    name: ClassVar[str] = "cma_wide"
    settings: ClassVar[CmaSettings] = CmaSettings(sigma=0.33)


class LocalCmaSearch(CmaSearch):
    """A small first step: for a space whose middle is known to be good."""

    name: ClassVar[str] = "cma_local"
    settings: ClassVar[CmaSettings] = CmaSettings(sigma=0.1)


class LargeCmaSearch(CmaSearch):
    """Twice the population: slower, and steadier on noise and many optima."""

    name: ClassVar[str] = "cma_large"
    settings: ClassVar[CmaSettings] = CmaSettings(population_ratio=2.0)
