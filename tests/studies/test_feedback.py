"""Study of feedback: shares are what the attempts say."""

import json
from pathlib import Path

import pytest

from arbor.studies.agents import PriorWriter, UniformWriter
from arbor.studies.feedback import Attempt, plot, run, shares, summary, table
from arbor.studies.recording import StudyDirectory


def test_every_arm_meets_every_task_in_every_language(tmp_path: Path) -> None:
    with StudyDirectory(tmp_path) as kept:
        attempts = run(UniformWriter(0), 3, 1, kept)
    assert len(attempts) == 2 * 8 * 3
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert len(events) == 3 * len(attempts)
    found = shares(attempts)
    assert len(found) == 2 * 2 * 3
    assert table(found).count("tuner") == 4 + 1
    assert plot(found).count("<title>") == 8
    json.dumps(summary(found, "uniform"), allow_nan=False)


def test_the_shift_of_size_and_language_costs_a_writer_with_a_prior() -> None:
    """By construction: this shows that the study sees it, not that a model does it."""
    found = {(s.language, s.regime, s.arm): s for s in shares(run(PriorWriter(0), 8, 3))}
    dense = found["dense", "native", "feedback"]
    assert dense.correct.low > found["sparse", "native", "feedback"].correct.high
    assert dense.won.value > found["dense", "small", "feedback"].won.value
    for regime in ("native", "small"):
        tuner = [found[language, regime, "tuner"] for language in ("dense", "sparse")]
        assert tuner[0].speedup == tuner[1].speedup


def test_wins_leave_ties_out_and_failures_lose() -> None:
    attempts = [
        Attempt("dense", "native", task, arm, 0, int(speedup > 0), 1, speedup)
        for task, mine, theirs in (("a", 2.0, 1.0), ("b", 1.0, 1.0), ("c", 0.0, 1.0))
        for arm, speedup in (("feedback", mine), ("tuner", theirs))
    ]
    own = next(s for s in shares(attempts) if s.arm == "feedback")
    assert (own.won.value, own.won.num) == (0.5, 2)
    assert own.correct.value == pytest.approx(2 / 3)
    assert own.speedup == pytest.approx(2.0**0.5)
