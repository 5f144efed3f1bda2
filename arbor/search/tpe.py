"""Tree-structured Parzen estimator, by Optuna."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import optuna

from arbor.events.types import Edit, Parameter
from arbor.search.engine import Point, bounds, check_told

NUM_STARTUP = 3
"""Points before the estimator's own; the first ones come from the catalog."""


def _distribution(parameter: Parameter) -> Any:
    if parameter.kind == "categorical":
        return optuna.distributions.CategoricalDistribution(parameter.choices)
    low, high = bounds(parameter)
    if parameter.kind == "int":
        return optuna.distributions.IntDistribution(int(low), int(high), log=parameter.log)
    return optuna.distributions.FloatDistribution(low, high, log=parameter.log)


class TpeSearch:
    """Optuna's TPE sampler behind ask and tell; failed trials are told as failed."""

    name = "tpe"

    def __init__(self, space: Sequence[Parameter], seed: int, first: Sequence[Point] = ()) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = tuple(space)
        self._distributions = {p.key: _distribution(p) for p in self._space}
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=NUM_STARTUP)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._first = deque(first)
        self._best: tuple[float, Point] | None = None

    def ask(self) -> Point:
        """Return the next point to try."""
        if self._first:
            return self._first.popleft()
        trial = self._study.ask(self._distributions)
        # Told again as a complete trial with its value, so that the asked one must not stay.
        self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return tuple(Edit(key=p.key, value=trial.params[p.key]) for p in self._space)

    def tell(self, point: Point, value: float | None) -> None:
        """Report the value of a point; None when the trial failed.

        Raises:
            ValueError: the point does not lie in the space, or the value is not finite.
        """
        check_told(self._space, point, value)
        state = optuna.trial.TrialState
        self._study.add_trial(
            optuna.trial.create_trial(
                params={edit.key: edit.value for edit in point},
                distributions=self._distributions,
                value=value,
                state=state.COMPLETE if value is not None else state.FAIL,
            )
        )
        if value is not None and (self._best is None or value > self._best[0]):
            self._best = (value, point)

    def best(self) -> Point | None:
        """Return the best point told so far."""
        return None if self._best is None else self._best[1]
