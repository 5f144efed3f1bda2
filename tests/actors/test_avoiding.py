"""A search does not start what is forbidden, nor what it has seen to run out of something."""

import math
from pathlib import Path
from typing import Literal

import pytest

from arbor.actors.crew import build_specialist
from arbor.actors.journal import Journal
from arbor.actors.specialists.avoiding import _narrowed
from arbor.core.campaign import Campaign
from arbor.core.names import specialist_name
from arbor.core.tree import ROOT_ID
from arbor.events.campaign import CampaignStarted
from arbor.events.choice import ActionDispatched, ActionProposed
from arbor.events.limits import ConstraintPublished
from arbor.events.log import EventLog
from arbor.events.settings import SearchSettings
from arbor.events.types import ConstraintScope, Parameter, ValueRange
from arbor.events.work import PatchProposed, TrialMeasured
from arbor.targets.landscape_config import LandscapeConfig
from arbor.targets.landscape_surface import Crash, Number, Surface
from tests.fakes.mortal_log import Killed, MortalLog
from tests.fakes.simulation import Simulation

KEY = "cache.blocks"
LIMIT = 64
NUM_TRIALS = 6
OOM = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",)
BROKEN = ("IndexError: list index out of range",)


def _landscape(log: tuple[str, ...]) -> LandscapeConfig:
    number = Number(name="size", key=KEY, low=1, high=1024, baseline=8, optimum=32)
    crash = Crash(above={"size": float(LIMIT)}, log=log)
    return LandscapeConfig(surface=Surface(numbers=(number,), crashes=(crash,)))


class Search:
    """One search for a number that runs out of memory above a limit."""

    def __init__(
        self, directory: Path, log: tuple[str, ...] = OOM, *, learns: bool = True
    ) -> None:
        settings = SearchSettings(tuning_trials=NUM_TRIALS, learn_from_crashes=learns)
        campaign = Campaign(target="landscape", search=settings)
        self.simulation = Simulation(directory, _landscape(log), campaign)
        (started,) = self.simulation.of_kind(CampaignStarted)
        self.dispatch = ActionDispatched(
            action_id="a001",
            node_id="n001",
            parent_id=ROOT_ID,
            parent_commit=started.root_commit,
            template_id="size",
            specialist="tuning",
            edits=(),
            brief="",
        )
        proposed = ActionProposed(
            action_id="a001", template_id="size", node_id=ROOT_ID, reason="new"
        )
        journal = Journal(self.simulation.log, "orchestrator", self.simulation.clock)
        journal.append(proposed, self.dispatch)

    def work(self, log: EventLog | None = None) -> list[TrialMeasured]:
        """Search, and return all trials so far."""
        clock = self.simulation.clock
        journal = Journal(log or self.simulation.log, specialist_name("n001"), clock)
        journal.start()
        build_specialist(self.simulation.place, journal, self.dispatch, "here").perform()
        return self.trials()

    def trials(self) -> list[TrialMeasured]:
        """Return the trials of the log."""
        return self.simulation.of_kind(TrialMeasured)


def _value(trial: TrialMeasured) -> float:
    return float(trial.edits[0].value)


def test_what_lies_beyond_a_broken_trial_is_not_asked_for_again(tmp_path: Path) -> None:
    trials = Search(tmp_path).work()
    started = [t for t in trials if not t.avoided]
    assert len(started) == NUM_TRIALS, "what is avoided takes no trial's place"
    lowest_broken = float("inf")
    for trial in trials:
        assert bool(trial.avoided) == (_value(trial) >= lowest_broken)
        if trial.crash is not None:
            lowest_broken = _value(trial)


@pytest.mark.parametrize(
    ("kind", "met", "low", "high"),
    [
        ("int", ValueRange(key=KEY, low=64.0), 1, 63),
        ("int", ValueRange(key=KEY, high=64.0), 65, 512),
        ("int", ValueRange(key=KEY, low=64.0, high=64.0), 1, 512),
        ("int", ValueRange(key="other", low=64.0), 1, 512),
        ("int", ValueRange(key=KEY, low=1.0), 1, 512),
        ("float", ValueRange(key=KEY, low=64.0), 1, math.nextafter(64.0, 0.0)),
    ],
)
def test_a_space_loses_the_ends_that_broke(
    kind: Literal["int", "float"], met: ValueRange, low: float, high: float
) -> None:
    space = Parameter(key=KEY, kind=kind, low=1, high=512)
    narrowed = _narrowed(space, (met,))
    assert (narrowed.low, narrowed.high) == (low, high)


def test_a_broken_trial_leaves_its_evidence(tmp_path: Path) -> None:
    trials = Search(tmp_path).work()
    broken = next(t for t in trials if t.crash is not None)
    assert broken.crash is not None
    assert broken.throughput_tok_s is None
    assert broken.failure == broken.crash.message == "the server ended"
    assert broken.crash.exit_code == 1
    assert broken.crash.phase == "start"
    assert OOM[0] in [line.text for line in broken.crash.log_excerpt]


@pytest.mark.parametrize(("log", "learns"), [(BROKEN, True), (OOM, False)])
def test_nothing_is_avoided_without_a_reason(
    tmp_path: Path, log: tuple[str, ...], *, learns: bool
) -> None:
    trials = Search(tmp_path, log, learns=learns).work()
    assert len(trials) == NUM_TRIALS
    assert any(t.crash is not None for t in trials)
    assert not any(t.avoided for t in trials)


def _forbid(search: Search, **bounds: float) -> None:
    scope = ConstraintScope(template_id="", ranges=(ValueRange(key=KEY, **bounds),))
    search.simulation.say(ConstraintPublished(constraint_id="h1", scope=scope, reason="no"))


def test_an_end_that_a_constraint_forbids_is_not_asked_for(tmp_path: Path) -> None:
    search = Search(tmp_path)
    _forbid(search, low=16.0)
    trials = search.work()
    assert len(trials) == NUM_TRIALS
    assert all(_value(t) < 16 and not t.avoided for t in trials)


def test_what_a_constraint_forbids_is_not_started(tmp_path: Path) -> None:
    search = Search(tmp_path)
    _forbid(search, low=16.0, high=1024.0)
    trials = search.work()
    assert all(bool(t.avoided) == (_value(t) >= 16) for t in trials)
    assert {t.avoided for t in trials if t.avoided} == {"constraint h1: no"}
    (patch,) = search.simulation.of_kind(PatchProposed)
    assert patch.validation.startswith("best of ")
    assert "more not started" in patch.validation


@pytest.mark.parametrize("lives", [9, 14])
def test_a_restart_knows_what_broke_before(tmp_path: Path, lives: int) -> None:
    whole = Search(tmp_path / "whole").work()
    search = Search(tmp_path / "killed")
    with pytest.raises(Killed):
        search.work(MortalLog(search.simulation.log, lives=lives))
    assert 0 < len(search.trials()) < len(whole)
    again = search.work()
    assert [(t.edits, t.avoided) for t in again] == [(t.edits, t.avoided) for t in whole]
