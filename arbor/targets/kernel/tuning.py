"""Tunes one shape of an operator by a search engine; the space's own rules prune first."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from arbor.events.errors import InvalidInputError
from arbor.events.types import Edit, Parameter, Scalar
from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Operator, Shape
from arbor.kernels.launching import Config
from arbor.search.engine import Engine, create_engine
from arbor.search.space import Point

_ASKS_PER_TRIAL = 50
"""An engine that keeps asking for what is ruled out or known is stopped after so many asks."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What became of one configuration.

    Attributes:
        config: that was tried.
        median_us: its time; None when it was refused or did not run.
        p20_us: 20th percentile of the time.
        p80_us: 80th percentile.
        error: relative error beside the time.
        method: how it was timed.
        problem: why there is no time.
    """

    config: Config
    median_us: float | None
    p20_us: float | None = None
    p80_us: float | None = None
    error: float = 0.0
    method: str = ""
    problem: str = ""


Evaluate = Callable[[Config], Measured]
Screen = Callable[[Config], str]
"""Returns why a configuration is ruled out; empty when it is not."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Trials on one shape, in their order.

    Attributes:
        shape: sizes.
        dtype: of the inputs.
        engine: name of the search engine; ``exhaustive`` for all configurations.
        trials: the shipped configuration first.
        space_size: configurations that the space's rules leave.
    """

    shape: Shape
    dtype: str
    engine: str
    trials: tuple[Measured, ...]
    space_size: int

    def best(self) -> Measured | None:
        """Return the fastest that was accepted; None when all failed."""
        timed = [each for each in self.trials if each.median_us is not None]
        return min(timed, key=lambda each: each.median_us or math.inf, default=None)

    def shipped(self) -> Measured:
        """Return the trial of the shipped configuration."""
        return self.trials[0]


def parameters_of(operator: Operator, architecture: Architecture) -> tuple[Parameter, ...]:
    """Return a space as search engines take it; keys with one value are left out."""
    return tuple(
        Parameter(key=key, kind="categorical", choices=tuple(values))
        for key, values in operator.space.choices(architecture).items()
        if len(values) > 1
    )


def valid_configs(
    operator: Operator, shape: Shape, dtype: str, architecture: Architecture
) -> Iterator[Config]:
    """Return all configurations that the space's rules leave for a shape."""
    choices = operator.space.choices(architecture)
    for values in itertools.product(*choices.values()):
        config = dict(zip(choices, values, strict=True))
        if not operator.space.problem(config, shape, dtype, architecture):
            yield config


def tune(
    operator: Operator,
    shape: Shape,
    dtype: str,
    architecture: Architecture,
    evaluate: Evaluate,
    *,
    engine_name: str,
    num_trials: int,
    seed: int,
    first: tuple[Config, ...] = (),
    screen: Screen | None = None,
) -> Tuning:
    """Search one shape.

    Configurations that the rules exclude, or that were tried before, cost no trial.

    Args:
        operator: what to tune.
        shape: sizes.
        dtype: of the inputs.
        architecture: whose space it is.
        evaluate: checks and times one configuration.
        engine_name: of the search engine.
        num_trials: configurations to evaluate, the shipped one included.
        seed: of the search.
        first: configurations to try after the shipped one, such as those of a near shape.
        screen: says why a configuration is not worth a trial, such as that it spills; the shipped
            one is always tried.

    Raises:
        InvalidInputError: there is no trial to spend.
    """
    if num_trials < 1:
        raise InvalidInputError(f"{num_trials} trials; at least 1 is needed")
    parameters = parameters_of(operator, architecture)
    shipped = operator.space.default(shape, dtype, architecture)
    starts = [_point(each, parameters) for each in (shipped, *first)]
    engine = create_engine(engine_name, parameters, seed, starts)
    fixed = {
        key: values[0]
        for key, values in operator.space.choices(architecture).items()
        if len(values) == 1
    }
    done: dict[Point, Measured] = {}
    for _ in range(num_trials * _ASKS_PER_TRIAL):
        if len(done) == num_trials:
            break
        point = engine.ask()
        config = fixed | {edit.key: _number_or_text(edit.value) for edit in point}
        if point in done:
            _tell(engine, point, done[point])
        elif operator.space.problem(config, shape, dtype, architecture) or (
            done and screen is not None and screen(config)
        ):
            engine.tell(point, None)
        else:
            done[point] = evaluate(config)
            _tell(engine, point, done[point])
    size = sum(1 for _ in valid_configs(operator, shape, dtype, architecture))
    return Tuning(shape, dtype, engine_name, tuple(done.values()), size)


def tune_exhaustively(
    operator: Operator, shape: Shape, dtype: str, architecture: Architecture, evaluate: Evaluate
) -> Tuning:
    """Evaluate every configuration that the space's rules leave, the shipped one first."""
    shipped = operator.space.default(shape, dtype, architecture)
    configs = list(valid_configs(operator, shape, dtype, architecture))
    others = [each for each in configs if each != shipped]
    trials = tuple(evaluate(each) for each in (shipped, *others))
    return Tuning(shape, dtype, "exhaustive", trials, len(configs))


def _tell(engine: Engine, point: Point, measured: Measured) -> None:
    # the logarithm, since engines model differences and times differ by factors
    value = None if measured.median_us is None else -math.log(measured.median_us)
    engine.tell(point, value)


def _point(config: Config, parameters: tuple[Parameter, ...]) -> Point:
    return tuple(Edit(key=each.key, value=config[each.key]) for each in parameters)


def _number_or_text(value: Scalar) -> int | str:
    return value if isinstance(value, str) else int(value)
