"""Tree-structured Parzen estimator, by Optuna."""

from typing import Any, ClassVar

import optuna

from arbor.events.types import Parameter, Scalar
from arbor.search.base import AskTell, Setup
from arbor.search.space import Point, bounds, exists

NUM_STARTUP = 3
"""Points before the estimator's own; the first ones come from the catalog."""


def _distribution(parameter: Parameter) -> Any:
    if parameter.kind == "categorical":
        return optuna.distributions.CategoricalDistribution(parameter.choices)
    low, high = bounds(parameter)
    if parameter.kind == "int":
        return optuna.distributions.IntDistribution(int(low), int(high), log=parameter.log)
    return optuna.distributions.FloatDistribution(low, high, log=parameter.log)


def _suggest(trial: Any, parameter: Parameter) -> Scalar:
    value: Scalar
    if parameter.kind == "categorical":
        value = trial.suggest_categorical(parameter.key, parameter.choices)
        return value
    low, high = bounds(parameter)
    if parameter.kind == "int":
        value = trial.suggest_int(parameter.key, int(low), int(high), log=parameter.log)
    else:
        value = trial.suggest_float(parameter.key, low, high, log=parameter.log)
    return value


class TpeSearch(AskTell):
    """Optuna's TPE sampler behind ask and tell; failures count as worse than every success."""

    name: ClassVar[str] = "tpe"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._distributions = {p.key: _distribution(p) for p in self._space}
        self._sampler = optuna.samplers.TPESampler(seed=0, n_startup_trials=NUM_STARTUP)
        self._study = optuna.create_study(direction="maximize", sampler=self._sampler)

    def _propose(self, number: int, attempt: int) -> Point:
        # Its chance depends on the turn alone. A new sampler would read all trials again.
        seed = self._source(number, attempt).getrandbits(32)
        self._sampler._rng.rng.seed(seed)
        self._sampler._random_sampler._rng.rng.seed(seed)
        trial = self._study.ask()
        values: dict[str, Scalar] = {}
        for parameter in self._space:
            if exists(parameter, values):
                values[parameter.key] = _suggest(trial, parameter)
        # Told again as a complete trial with its value, so that the asked one must not stay.
        self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return self._space.point(values)

    def _learn(self, point: Point, value: float | None) -> None:
        state = optuna.trial.TrialState
        self._study.add_trial(
            optuna.trial.create_trial(
                params={edit.key: edit.value for edit in point},
                distributions={edit.key: self._distributions[edit.key] for edit in point},
                value=value,
                # The estimator leaves failed trials out, and ranks pruned ones last.
                state=state.COMPLETE if value is not None else state.PRUNED,
            )
        )
