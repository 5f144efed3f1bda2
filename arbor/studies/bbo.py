"""Study 1: engines on functions, 50 evaluations each; who finds more, and how they move."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from arbor.search.cube import Cube
from arbor.search.engine import ADVISED, create_engine
from arbor.search.probes import Estimate, rate
from arbor.search.space import values_of
from arbor.studies.oracle import adviser_for
from arbor.studies.plot import lines
from arbor.studies.problems import Problem
from arbor.studies.recording import StudyDirectory, aligned
from arbor.studies.trajectory import Trajectory, describe

DEFAULT_ENGINES = ("random", "tpe", "cma", "ngopt", "mcts", "llm", "llm_mcts", "centaur")
REFERENCE = "cma"
"""Engine that wins are counted against, where it takes part."""


@dataclass(frozen=True, slots=True)
class Run:
    """One search.

    Attributes:
        problem: its name.
        group: of the problem.
        engine: with its adviser in brackets.
        seed: of the search.
        best: best value after each evaluation; None before one succeeded.
        trajectory: how it moved.
    """

    problem: str
    group: str
    engine: str
    seed: int
    best: tuple[float | None, ...]
    trajectory: Trajectory


@dataclass(frozen=True, slots=True)
class Standing:
    """An engine over the problems of a group.

    Attributes:
        group: of problems.
        engine: whose standing it is.
        num: searches.
        wins: share of problems where it beat the reference, ties left out.
        num_wins: those problems.
        num_losses: problems where the reference was better.
        rank: mean rank among the engines over the problems, 1 is best.
        best_step: median step of the best value.
        coverage: mean share of cells.
        path_length: mean normalised step.
        coherence: mean net displacement over path length.
    """

    group: str
    engine: str
    num: int
    wins: Estimate
    num_wins: int
    num_losses: int
    rank: float
    best_step: float
    coverage: float
    path_length: float
    coherence: float


def label(engine: str, adviser: str) -> str:
    """Return how a table names an engine."""
    return f"{engine}[{adviser}]" if engine in ADVISED else engine


def search(
    problem: Problem,
    engine_name: str,
    adviser: str,
    *,
    seed: int,
    budget: int,
    directory: StudyDirectory | None = None,
) -> Run:
    """Run one search and record every trial.

    Raises:
        ArborError: the engine or the adviser cannot be made, or the adviser failed.
    """
    cube = Cube(problem.space)
    name = label(engine_name, adviser)
    made = adviser_for(adviser, problem, seed) if engine_name in ADVISED else None
    engine = create_engine(engine_name, problem.space, seed, budget=budget, adviser=made)
    units: list[list[float]] = []
    values: list[float | None] = []
    best: list[float | None] = []
    for step in range(1, budget + 1):
        point = engine.ask()
        value = problem.evaluate(point)
        engine.tell(point, value)
        units.append([float(each) for each in cube.to_vector(point)])
        values.append(value)
        known = [each for each in (*best[-1:], value) if each is not None]
        best.append(max(known, default=None))
        if directory is not None:
            directory.record(
                "TrialTold",
                problem=problem.name,
                engine=name,
                seed=seed,
                step=step,
                point=values_of(point),
                value=value,
            )
    return Run(problem.name, problem.group, name, seed, tuple(best), describe(units, values))


def standings(runs: Sequence[Run], reference: str = REFERENCE) -> list[Standing]:
    """Return every engine's standing in every group, in the order in which they ran."""
    groups = dict.fromkeys(run.group for run in runs)
    engines = dict.fromkeys(run.engine for run in runs)
    found = []
    for group in groups:
        results = _results([run for run in runs if run.group == group])
        for engine in engines:
            own = [run for run in runs if (run.group, run.engine) == (group, engine)]
            if own:
                found.append(_standing(group, engine, own, results, reference))
    return found


def _results(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """Return the mean best value by problem and engine; failures are minus infinity."""
    values: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        value = run.trajectory.best_value
        of_engine = values.setdefault(run.problem, {}).setdefault(run.engine, [])
        of_engine.append(-math.inf if value is None else value)
    return {
        problem: {engine: sum(each) / len(each) for engine, each in engines.items()}
        for problem, engines in values.items()
    }


def _standing(
    group: str,
    engine: str,
    own: Sequence[Run],
    results: dict[str, dict[str, float]],
    reference: str,
) -> Standing:
    num_wins = num_losses = 0
    ranks = []
    for of_engines in results.values():
        mine = of_engines[engine]
        better = sum(value > mine for value in of_engines.values())
        equal = sum(value == mine for value in of_engines.values())
        ranks.append(better + (equal + 1) / 2)
        other = of_engines.get(reference, mine)
        num_wins += mine > other
        num_losses += mine < other
    paths = [run.trajectory for run in own]
    steps = sorted(path.best_step for path in paths)
    num = len(paths)
    return Standing(
        group=group,
        engine=engine,
        num=num,
        wins=rate(num_wins, num_wins + num_losses),
        num_wins=num_wins,
        num_losses=num_losses,
        rank=sum(ranks) / len(ranks),
        best_step=float(steps[num // 2]),
        coverage=math.fsum(path.coverage for path in paths) / num,
        path_length=math.fsum(path.path_length for path in paths) / num,
        coherence=math.fsum(path.coherence for path in paths) / num,
    )


def table(found: Sequence[Standing], reference: str = REFERENCE) -> str:
    """Return the standings as text."""
    rows = [
        (
            "group",
            "engine",
            "runs",
            f"wins:losses to {reference}",
            "share won",
            "rank",
            "best step",
            "coverage",
            "path",
            "coherence",
        )
    ]
    rows += [
        (
            each.group,
            each.engine,
            str(each.num),
            "" if each.engine == reference else f"{each.num_wins}:{each.num_losses}",
            "" if each.engine == reference else str(each.wins),
            f"{each.rank:.2f}",
            f"{each.best_step:.0f}",
            f"{each.coverage:.2f}",
            f"{each.path_length:.3f}",
            f"{each.coherence:.3f}",
        )
        for each in found
    ]
    return aligned(rows)


def plot(runs: Sequence[Run]) -> str:
    """Return the mean rank of each engine after every evaluation; 1 is best."""
    by_problem: dict[tuple[str, int], dict[str, Run]] = {}
    for run in runs:
        by_problem.setdefault((run.problem, run.seed), {})[run.engine] = run
    engines = list(dict.fromkeys(run.engine for run in runs))
    budget = len(runs[0].best) if runs else 0
    ranks = {engine: [0.0] * budget for engine in engines}
    for of_engines in by_problem.values():
        for step in range(budget):
            values = {e: _finite(run.best[step]) for e, run in of_engines.items()}
            for engine, mine in values.items():
                better = sum(value > mine for value in values.values())
                equal = sum(value == mine for value in values.values())
                ranks[engine][step] += (better + (equal + 1) / 2) / len(by_problem)
    return lines("mean rank of the best value so far; 1 is best", "evaluations", ranks)


def _finite(value: float | None) -> float:
    return -math.inf if value is None else value


def summary(found: Sequence[Standing], adviser: str) -> dict[str, object]:
    """Return what goes into the summary file."""
    return {
        "study": "bbo",
        "adviser": adviser,
        "note": "advisers without a model are stand-ins;"
        " nothing here reproduces a model's figures",
        "standings": [asdict(each) for each in found],
    }
