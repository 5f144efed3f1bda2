"""Centaur with a useless adviser beside CMA-ES given the turns left to it, on BBOB.

48 problems in each dimension (24 functions, two instances), 50 evaluations. CMA-ES gets the turns
that Centaur's adviser leaves, with the same seed. A search counts 1 where Centaur's best value is
better, 1/2 where equal, 0 where worse; problems count the mean of their seeds, and the interval is
a bootstrap over problems.
"""

import argparse
import math
from collections.abc import Sequence

from paired import interval, scores
from table import Row, at_least, publish

from arbor.search.centaur import DEFAULT_SHARE
from arbor.studies.bbo import label, search
from arbor.studies.bbob import bbob_problems
from arbor.studies.problems import Problem

BUDGET = 50
USELESS = ("uniform", "stuck", "echo")
MARGIN = 0.05
"""Not worse: the interval's lower end lies at most this far below one half."""
OTHERS = {
    "cma_wide": "",
    "cma_local": "",
    "cma_large": "",
    "random": "",
    "mcts": "",
    "tpe": "",
    "ngopt": "",
    "centaur": "uniform",
    "centaur_adaptive": "uniform",
}
"""Engines with their advisers."""


def best_values(
    problems: Sequence[Problem], engine: str, adviser: str, budget: int, num_seeds: int
) -> list[list[float]]:
    """Return the best value of each seed on each problem."""
    found = []
    for problem in problems:
        runs = [
            search(problem, engine, adviser, seed=seed, budget=budget) for seed in range(num_seeds)
        ]
        values = [run.trajectory.best_value for run in runs]
        found.append([-math.inf if value is None else value for value in values])
    return found


def measure(dimension: int, num_seeds: int) -> list[Row]:
    """Return the figures of one dimension."""
    problems = bbob_problems([dimension])
    own_turns = BUDGET - int(BUDGET * DEFAULT_SHARE)
    alone = best_values(problems, "cma", "", own_turns, num_seeds)
    rows = []
    for adviser in USELESS:
        together = best_values(problems, "centaur", adviser, BUDGET, num_seeds)
        mean, low, high = interval(scores(together, alone))
        how = (
            f"{len(problems)} problems, {num_seeds} seeds, Centaur {BUDGET} evaluations, CMA-ES"
            f" {own_turns}; 95 % interval by bootstrap over problems; margin {MARGIN}"
        )
        name = f"{dimension}-D Centaur[{adviser}] against CMA-ES"
        rows += [
            Row(f"{name}, share won", mean, "of problems", how=how),
            at_least(f"{name}, lower end", low, "of problems", 0.5 - MARGIN, how),
            Row(f"{name}, upper end", high, "of problems", how=how),
        ]
    return rows


def others(dimension: int, num_seeds: int) -> list[Row]:
    """Return how other engines stand to CMA-ES, for information."""
    problems = bbob_problems([dimension])
    whole = best_values(problems, "cma", "", BUDGET, num_seeds)
    rows = []
    for engine, adviser in OTHERS.items():
        mean, low, high = interval(
            scores(best_values(problems, engine, adviser, BUDGET, num_seeds), whole)
        )
        how = (
            f"{len(problems)} problems, {num_seeds} seeds, {BUDGET} evaluations each;"
            " 95 % interval in the name"
        )
        name = f"{dimension}-D {label(engine, adviser)} against CMA-ES"
        rows.append(Row(f"{name} [{low:.2f}, {high:.2f}]", mean, "of problems", how=how))
    return rows


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=15)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--only-centaur", action="store_true")
    parser.add_argument("--other-seeds", type=int, default=2, help="for the other engines")
    options = parser.parse_args()
    rows = []
    for dimension in options.dimensions:
        rows += measure(dimension, options.seeds)
        if not options.only_centaur:
            rows += others(dimension, options.other_seeds)
    return publish("bbob", rows)


if __name__ == "__main__":
    raise SystemExit(main())
