"""Study of functions: runs, standings, what is written."""

import json
from pathlib import Path

import pytest

from arbor.studies.bbo import Run, plot, search, standings, summary, table
from arbor.studies.recording import StudyDirectory
from arbor.studies.synthetic import synthetic_problems
from arbor.studies.trajectory import Trajectory

BOWL = synthetic_problems(1)[0]


def _run(problem: str, engine: str, value: float | None) -> Run:
    path = Trajectory(value, 3, 0.5, 0.1, 0.2)
    return Run(problem, "g", engine, 0, (None, value), path)


def test_a_search_records_every_trial(tmp_path: Path) -> None:
    with StudyDirectory(tmp_path / "s") as kept:
        run = search(BOWL, "random", "", seed=0, budget=12, directory=kept)
    events = [
        json.loads(line) for line in (tmp_path / "s" / "events.jsonl").read_text().splitlines()
    ]
    assert [event["step"] for event in events] == list(range(1, 13))
    assert max(event["value"] for event in events) == run.best[-1] == run.trajectory.best_value
    assert list(run.best) == sorted(run.best, key=lambda each: each or 0.0)


def test_an_informed_adviser_finds_more_than_chance() -> None:
    near = search(BOWL, "llm", "near", seed=0, budget=20)
    blind = search(BOWL, "llm", "uniform", seed=0, budget=20)
    assert near.engine == "llm[near]"
    assert (near.trajectory.best_value or -99) > (blind.trajectory.best_value or -99)


def test_wins_are_counted_against_the_reference_without_ties() -> None:
    runs = [
        _run(f"p{number}", engine, value)
        for number, (other, reference) in enumerate([(2.0, 1.0), (1.0, 2.0), (1.0, 1.0), (3, 1)])
        for engine, value in (("other", other), ("cma", reference))
    ]
    other, reference = standings(runs)
    assert (other.num_wins, other.num_losses) == (2, 1)
    assert other.wins.value == pytest.approx(2 / 3)
    assert other.wins.low < 0.5 < other.wins.high
    assert other.rank == pytest.approx((1 + 2 + 1.5 + 1) / 4)
    assert reference.num_wins == reference.num_losses == 0
    text = table([other, reference])
    assert "2:1" in text
    assert text.splitlines()[2].startswith("g")


def test_a_search_without_any_success_loses() -> None:
    found = standings([_run("p", "other", None), _run("p", "cma", -1e9)])
    assert (found[0].num_wins, found[0].num_losses) == (0, 1)


def test_the_plot_has_a_line_for_each_engine() -> None:
    text = plot([_run("p", "other", 1.0), _run("p", "cma", 2.0)])
    assert text.count("<polyline") == 2
    assert "<title>other</title>" in text


def test_the_summary_says_what_was_not_run() -> None:
    assert "stand-ins" in str(summary([], "mutator")["note"])
