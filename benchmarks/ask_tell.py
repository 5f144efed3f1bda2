"""How long ask and tell take at 1,000 observations: ours beside the library that does the work."""

import random
import statistics
import time
from collections.abc import Callable

from table import Row, at_most, publish

from arbor.events.types import Parameter
from arbor.search.advisers import UniformAdviser
from arbor.search.engine import create_engine
from arbor.search.space import Point, Space, values_of

NUM_OBSERVATIONS = 1000
NUM_TURNS = 60
LIMIT_MS = 5.0
OURS = ("random", "cma", "mcts", "llm", "llm_mcts", "centaur", "centaur_adaptive")
"""Engines without a slow library: all of their time is held against the limit."""
SPACE = Space(
    [
        Parameter(key="size", kind="int", low=1, high=512, log=True),
        Parameter(key="rate", kind="float", low=0.0, high=1.0),
        Parameter(key="scale", kind="float", low=1e-6, high=1.0, log=True),
        Parameter(key="mode", kind="categorical", choices=("a", "b", "c")),
        Parameter(key="flag", kind="categorical", choices=(False, True)),
    ]
)
HOW = (
    f"median of {NUM_TURNS} turns of ask and tell after {NUM_OBSERVATIONS} told trials, five"
    " parameters; advisers answer at once"
)


def worth(point: Point) -> float:
    """Return a value."""
    values = values_of(point)
    return -abs(float(values["rate"]) - 0.3) - 0.01 * float(values["size"])


def median_ms(turn: Callable[[], object]) -> float:
    """Return the median milliseconds of a turn."""
    found = []
    for _ in range(NUM_TURNS):
        begin = time.perf_counter()
        turn()
        found.append(1000.0 * (time.perf_counter() - begin))
    return statistics.median(found)


def engine_ms(name: str) -> float:
    """Return the time of a turn of an engine."""
    engine = create_engine(name, SPACE, 0, budget=1100, adviser=UniformAdviser(0))
    source = random.Random(0)  # noqa: S311 - a sample, not a secret
    for _ in range(NUM_OBSERVATIONS):
        point = SPACE.draw(source)
        engine.tell(point, worth(point))

    def turn() -> None:
        asked = engine.ask()
        engine.tell(asked, worth(asked))

    return median_ms(turn)


def optuna_ms() -> float:
    """Return the time of a turn of Optuna alone on the same trials."""
    import optuna  # noqa: PLC0415 - the search extra

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made = optuna.distributions
    space = {
        "size": made.IntDistribution(1, 512, log=True),
        "rate": made.FloatDistribution(0.0, 1.0),
        "scale": made.FloatDistribution(1e-6, 1.0, log=True),
        "mode": made.CategoricalDistribution(("a", "b", "c")),
        "flag": made.CategoricalDistribution((False, True)),
    }
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=3)
    )
    source = random.Random(0)  # noqa: S311 - a sample, not a secret
    for _ in range(NUM_OBSERVATIONS):
        point = SPACE.draw(source)
        study.add_trial(
            optuna.trial.create_trial(
                params=values_of(point), distributions=space, value=worth(point)
            )
        )

    def turn() -> None:
        trial = study.ask(space)
        study.tell(trial, -abs(trial.params["rate"] - 0.3) - 0.01 * trial.params["size"])

    return median_ms(turn)


def main() -> int:
    """Run the benchmark."""
    rows = [
        at_most(f"{name}, ask and tell", engine_ms(name), "ms", LIMIT_MS, HOW) for name in OURS
    ]
    whole, library = engine_ms("tpe"), optuna_ms()
    rows += [
        Row("tpe, ask and tell", whole, "ms", how=HOW),
        Row("Optuna alone", library, "ms", how=HOW),
        at_most("tpe, of our own", whole - library, "ms", LIMIT_MS, HOW),
        Row("ngopt, ask and tell", engine_ms("ngopt"), "ms", how=HOW),
    ]
    return publish("ask_tell", rows)


if __name__ == "__main__":
    raise SystemExit(main())
