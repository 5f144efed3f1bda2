"""`arbor study`: prior knowledge against search, as runnable studies."""

from pathlib import Path
from typing import Annotated

import typer

from arbor.cli.console import people, say
from arbor.events.errors import InvalidInputError
from arbor.studies import bbo as functions
from arbor.studies import collapse as collapsing
from arbor.studies import feedback as looping
from arbor.studies.agents import writer_for
from arbor.studies.bbob import bbob_problems
from arbor.studies.physical import physical_problems
from arbor.studies.plugins import load
from arbor.studies.problems import Problem
from arbor.studies.recording import EVENTS, PLOT, StudyDirectory
from arbor.studies.synthetic import synthetic_problems
from arbor.studies.writers import WRITERS

GROUPS = ("synthetic", "physical", "bbob")

app = typer.Typer(
    name="study",
    help="Prior knowledge or search: bbo, collapse, feedback; table, plot and raw events.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Seed = Annotated[int, typer.Option(help="Of all chance.")]


def _directory(path: Path | None, name: str) -> StudyDirectory:
    return StudyDirectory(path or Path("runs") / f"study-{name}")


Directory = Annotated[
    Path | None,
    typer.Option("--dir", help="New directory for events, summary, table, plot: runs/study-NAME."),
]


@app.command("bbo")
def bbo(
    group: Annotated[
        list[str] | None,
        typer.Option("--group", help="synthetic, physical, bbob; may be given several times."),
    ] = None,
    engine: Annotated[
        list[str] | None, typer.Option("--engine", help="May be given several times.")
    ] = None,
    adviser: Annotated[
        str, typer.Option(help="uniform, stuck, echo, mutator, near, or module:name of yours.")
    ] = "mutator",
    functions_limit: Annotated[
        int, typer.Option("--functions", help="Synthetic functions, at most 100.")
    ] = 100,
    evaluations: Annotated[int, typer.Option(help="Of each search.")] = 50,
    seeds: Annotated[int, typer.Option(help="Searches of each engine on each function.")] = 1,
    directory: Directory = None,
) -> None:
    """Run engines on functions: wins with intervals, best step, coverage, path, coherence."""
    problems = _problems(group or GROUPS[:2], functions_limit)
    engines = engine or list(functions.DEFAULT_ENGINES)
    runs = []
    with _directory(directory, "bbo") as kept:
        for number, problem in enumerate(problems, 1):
            people().print(f"{number}/{len(problems)} {problem.name}", highlight=False)
            runs += [
                functions.search(
                    problem, name, adviser, seed=each, budget=evaluations, directory=kept
                )
                for name in engines
                for each in range(seeds)
            ]
        found = functions.standings(runs)
        text = functions.table(found)
        kept.finish(functions.summary(found, adviser), text, functions.plot(runs))
    _show(text, kept, f"adviser {adviser}: a stand-in unless it is a model of yours")


@app.command("collapse")
def collapse(
    writer: Annotated[
        str, typer.Option(help="habit, attentive, random, or module:name of yours.")
    ] = "habit",
    samples: Annotated[int, typer.Option(help="Programs for each size.")] = 3,
    seed: Seed = 0,
    directory: Directory = None,
) -> None:
    """Measure whether block and tile parameters follow the size: mutual information and chance."""
    if samples < 1:
        raise InvalidInputError(f"{samples} samples; at least 1 is needed")
    made = load(writer, WRITERS, "writer", seed)
    with _directory(directory, "collapse") as kept:
        cells = collapsing.run(made, samples, kept)
        text = collapsing.table(cells)
        kept.finish(collapsing.summary(cells, writer), text, collapsing.plot(cells))
    _show(text, kept, f"writer {writer}: a stand-in unless it is a model of yours")


@app.command("feedback")
def feedback(
    writer: Annotated[
        str, typer.Option(help="prior, uniform, or module:name of yours.")
    ] = "prior",
    evaluations: Annotated[int, typer.Option(help="Programs that each arm may run.")] = 10,
    seeds: Annotated[int, typer.Option(help="Attempts of each arm at each task.")] = 5,
    seed: Seed = 0,
    directory: Directory = None,
) -> None:
    """Run agents and a tuner in a dense and a sparse language, at native and at small sizes."""
    if evaluations < 2 or seeds < 1:
        raise InvalidInputError("at least 2 evaluations and 1 seed are needed")
    made = writer_for(writer, seed)
    with _directory(directory, "feedback") as kept:
        found = looping.shares(looping.run(made, evaluations, seeds, kept))
        text = looping.table(found)
        kept.finish(looping.summary(found, writer), text, looping.plot(found))
    _show(
        text,
        kept,
        f"times are modelled, not measured; writer {writer}: a stand-in unless it is yours",
    )


def _problems(groups: list[str] | tuple[str, ...], limit: int) -> list[Problem]:
    makers = {
        "synthetic": lambda: synthetic_problems(limit),
        "physical": physical_problems,
        "bbob": bbob_problems,
    }
    if strange := [each for each in groups if each not in makers]:
        raise InvalidInputError(f"no group {strange[0]!r}; known: {', '.join(makers)}")
    return [problem for each in groups for problem in makers[each]()]


def _show(text: str, kept: StudyDirectory, remark: str) -> None:
    say(text)
    say(remark)
    say(f"raw events: {kept.path / EVENTS}; plot: {kept.path / PLOT}")
