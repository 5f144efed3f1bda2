"""Specialists do their work once, stop when told to, and go on where a dead one stopped."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.actors.crew import build_specialist
from arbor.actors.journal import Journal
from arbor.core.campaign import Campaign
from arbor.core.names import specialist_name
from arbor.core.rca import Incident, diagnose
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Status
from arbor.events.campaign import CampaignStarted
from arbor.events.choice import ActionDispatched, ActionProposed
from arbor.events.life import LeaseTaken
from arbor.events.limits import ActionVetoed
from arbor.events.log import EventLog
from arbor.events.outcome import Crashed
from arbor.events.settings import SearchSettings
from arbor.events.types import Edit, Scalar
from arbor.events.work import (
    AttemptStarted,
    PatchProposed,
    SpecialistConstructed,
    SpecialistRetired,
    TrialMeasured,
)
from arbor.targets.base import ServerFailedError
from arbor.targets.landscape import LandscapeConfig
from tests.fakes.mortal_log import Killed, MortalLog
from tests.fakes.screened_landscape import ScreenedLandscape
from tests.fakes.simulation import E, Simulation

NUM_TRIALS = 5


class Bureau:
    """One dispatched action and the specialists that work on it."""

    def __init__(self, directory: Path, template_id: str, edits: tuple[Edit, ...] = ()) -> None:
        search = SearchSettings(tuning_trials=NUM_TRIALS)
        self.simulation = Simulation(
            directory, campaign=Campaign(target="landscape", search=search)
        )
        (started,) = self.events(CampaignStarted)
        template = next(t for t in started.actions if t.template_id == template_id)
        self.dispatch = ActionDispatched(
            action_id="a001",
            node_id="n001",
            parent_id=ROOT_ID,
            parent_commit=started.root_commit,
            template_id=template_id,
            specialist="tuning" if template.space else "config",
            edits=edits or template.edits,
            brief="",
        )
        proposed = ActionProposed(
            action_id="a001", template_id=template_id, node_id=ROOT_ID, reason="new"
        )
        Journal(self.simulation.log, "orchestrator", self.simulation.clock).append(
            proposed, self.dispatch
        )

    def work(self, log: EventLog | None = None) -> None:
        """Build a specialist and let it do its work."""
        place, clock = self.simulation.place, self.simulation.clock
        journal = Journal(log or self.simulation.log, specialist_name("n001"), clock)
        journal.start()
        build_specialist(place, journal, self.dispatch, "here").perform()

    def at(self, call: int, what: Callable[[], None]) -> None:
        """Have something happen before a window, counted from 1."""
        num = 0

        def hook(_config: dict[str, Scalar], _phase: str) -> None:
            nonlocal num
            num += 1
            if num == call:
                what()

        self.simulation.target.hook = hook

    @property
    def state(self) -> CampaignState:
        return self.simulation.state()

    def events(self, kind: type[E]) -> list[E]:
        return self.simulation.of_kind(kind)


def _raise(error: BaseException) -> Callable[[], None]:
    def do() -> None:
        raise error

    return do


def test_a_switch_is_tried_and_proposed(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "vectorised")
    bureau.work()
    (patch,) = bureau.events(PatchProposed)
    edits = (Edit(key="sampler.vectorised", value=True),)
    assert patch.edits == edits
    place = bureau.simulation.place
    assert place.workspace.config(patch.commit)["sampler.vectorised"] is True
    assert b"sampler.vectorised: True" in place.blobs.get(patch.diff_digest)
    assert bureau.state.tree.node("n001").status is Status.READY
    assert not bureau.state.leases.held
    kinds = [r.event.kind for r in bureau.simulation.events() if r.actor == "specialist-n001"]
    assert kinds[1:4] == ["SpecialistConstructed", "AttemptStarted", "PlanProposed"]
    assert kinds[-1] == "SpecialistRetired"


def test_screening_shares_the_host(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "vectorised")
    bureau.work()
    leases = bureau.events(LeaseTaken)
    assert leases
    assert not any(lease.is_exclusive for lease in leases)


def _screened(bureau: Bureau, *, is_tested: bool) -> ScreenedLandscape:
    """Give a bureau a target that screens on less than a server."""
    simulation = bureau.simulation
    target = ScreenedLandscape(LandscapeConfig(), simulation.clock.sleep, is_tested=is_tested)
    simulation.place = replace(simulation.place, target=target)
    return target


@pytest.mark.parametrize(
    ("template_id", "num_trials"), [("vectorised", 1), ("max_active", NUM_TRIALS)]
)
def test_trials_run_on_what_starts_soonest(
    tmp_path: Path, template_id: str, num_trials: int
) -> None:
    bureau = Bureau(tmp_path, template_id)
    target = _screened(bureau, is_tested=True)
    bureau.work()
    assert (target.num_screenings, target.num_quick_starts) == (num_trials, 0)
    assert len(bureau.events(TrialMeasured)) == num_trials


def test_a_switch_is_proposed_untried_where_starts_are_slow(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "vectorised")
    target = _screened(bureau, is_tested=False)
    bureau.work()
    (patch,) = bureau.events(PatchProposed)
    assert patch.validation == "not started before it is measured"
    assert (target.num_screenings, bureau.events(TrialMeasured)) == (0, [])


def test_numbers_are_searched_for_even_there(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "max_active")
    target = _screened(bureau, is_tested=False)
    bureau.work()
    assert target.num_screenings == NUM_TRIALS


def test_a_crash_is_an_event(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "vectorised")
    log = ("line 1", "RuntimeError: no")
    bureau.at(1, _raise(ServerFailedError("benchmark", "it fell", 1, None, log)))
    bureau.work()
    (crash,) = bureau.events(Crashed)
    assert (crash.action_id, crash.node_id, crash.attempt_id) == ("a001", "n001", "n001.1")
    assert crash.log_tail == log
    assert bureau.state.tree.node("n001").status is Status.CRASHED
    assert not bureau.events(PatchProposed)
    (retired,) = bureau.events(SpecialistRetired)
    assert "it fell" in retired.reason
    assert not bureau.state.leases.held


def test_a_veto_stops_the_work(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "max_active")
    veto = ActionVetoed(action_id="a001", reason="no", by="human")
    bureau.at(2, lambda: bureau.simulation.say(veto))
    bureau.work()
    assert len(bureau.events(TrialMeasured)) == 2
    assert not bureau.events(PatchProposed)
    (retired,) = bureau.events(SpecialistRetired)
    assert "not wanted" in retired.reason


def test_a_veto_during_the_last_window_stops_the_patch(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "vectorised")
    veto = ActionVetoed(action_id="a001", reason="no", by="human")
    bureau.at(1, lambda: bureau.simulation.say(veto))
    bureau.work()
    assert not bureau.events(PatchProposed)


def test_finished_work_is_not_done_again(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "vectorised")
    bureau.work()
    bureau.work()
    assert len(bureau.events(PatchProposed)) == 1
    assert len(bureau.events(AttemptStarted)) == 1
    assert len(bureau.events(SpecialistRetired)) == 2


def test_the_best_of_the_trials_is_proposed(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "max_active")
    bureau.work()
    trials = bureau.events(TrialMeasured)
    assert [t.trial for t in trials] == list(range(1, NUM_TRIALS + 1))
    best = max(trials, key=lambda t: t.throughput_tok_s or 0.0)
    (patch,) = bureau.events(PatchProposed)
    assert patch.edits == best.edits


def test_a_suggested_point_is_tried_first(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "max_active", (Edit(key="batching.max_active", value=13),))
    bureau.work()
    first = bureau.events(TrialMeasured)[0]
    assert first.edits == (Edit(key="batching.max_active", value=13),)


def test_failed_trials_are_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "max_active")
    bureau.at(2, _raise(ServerFailedError("benchmark", "it fell")))
    bureau.work()
    trials = bureau.events(TrialMeasured)
    assert len(trials) == NUM_TRIALS
    # The landscape itself crashes where too many sequences are active.
    own = [t for t in trials if t.failure in {None, "it fell"}]
    assert [t.throughput_tok_s is None for t in own] == [t.trial == 2 for t in own]
    assert trials[2].throughput_tok_s is not None
    assert trials[1].failure == "it fell"
    assert len(bureau.events(PatchProposed)) == 1


def test_when_every_trial_fails_the_action_crashes(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "max_active")

    def hook(_config: dict[str, Scalar], _phase: str) -> None:
        raise ServerFailedError("benchmark", "RuntimeError: no")

    bureau.simulation.target.hook = hook
    bureau.work()
    assert bureau.state.tree.node("n001").status is Status.CRASHED
    assert len(bureau.events(TrialMeasured)) == NUM_TRIALS


@pytest.mark.parametrize("num_done", [1, 3, NUM_TRIALS])
def test_a_restart_goes_on_with_the_trials_of_the_log(tmp_path: Path, num_done: int) -> None:
    whole = Bureau(tmp_path / "whole", "max_active")
    whole.work()
    bureau = Bureau(tmp_path / "killed", "max_active")
    # start, construction, and take-window-record for every trial: three appends each
    log = MortalLog(bureau.simulation.log, lives=2 + 3 * num_done)
    with pytest.raises(Killed):
        bureau.work(log)
    assert len(bureau.events(TrialMeasured)) == num_done
    num_windows = 0

    def count(_config: dict[str, Scalar], _phase: str) -> None:
        nonlocal num_windows
        num_windows += 1

    bureau.simulation.target.hook = count
    bureau.work()
    assert num_windows == NUM_TRIALS - num_done
    attempts = bureau.events(AttemptStarted)
    assert [a.attempt for a in attempts] == [1, 2]
    first, again = ([e.edits for e in b.events(TrialMeasured)] for b in (whole, bureau))
    assert len(again) == NUM_TRIALS
    assert again[: num_done + 1] == first[: num_done + 1]
    assert len(bureau.events(PatchProposed)) == 1
    assert not bureau.state.leases.held


@pytest.mark.parametrize("stores_last", [True, False])
@pytest.mark.parametrize("lives", range(1, 9))
def test_may_be_killed_at_any_append(tmp_path: Path, lives: int, *, stores_last: bool) -> None:
    bureau = Bureau(tmp_path, "vectorised")
    with suppress(Killed):
        bureau.work(MortalLog(bureau.simulation.log, lives, stores_last=stores_last))
    bureau.work()
    assert len(bureau.events(PatchProposed)) == 1
    assert bureau.state.tree.node("n001").status is Status.READY
    assert not bureau.state.leases.held
    assert bureau.events(SpecialistConstructed)


def test_a_specialist_that_dies_of_its_work_gives_it_up(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "vectorised")
    for _ in range(2):
        with suppress(Killed):
            # start, construction, lease: killed in the first window
            bureau.work(MortalLog(bureau.simulation.log, lives=3))
    bureau.work()
    (crash,) = bureau.events(Crashed)
    assert crash.message == "the specialist died in each of 2 attempts"
    assert (crash.attempt_id, crash.phase) == ("n001.2", "specialist")
    assert [line.split(" ended")[0] for line in crash.log_tail[-2:]] == [
        "attempt n001.1",
        "attempt n001.2",
    ]
    assert diagnose(Incident(message=crash.message)).cause == "worker_died"
    assert bureau.state.tree.node("n001").status is Status.CRASHED
    assert len(bureau.events(AttemptStarted)) == 2
    assert not bureau.state.leases.held
    bureau.work()
    assert len(bureau.events(Crashed)) == 1, "it is over"


def test_the_log_of_its_last_server_is_evidence(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, "vectorised")
    logs = bureau.simulation.place.directory / "logs"
    logs.mkdir()
    (logs / "specialist-n001-abc.log").write_text("line 1\nHSA_STATUS_ERROR\n")
    for _ in range(2):
        with suppress(Killed):
            bureau.work(MortalLog(bureau.simulation.log, lives=2))
    bureau.work()
    (crash,) = bureau.events(Crashed)
    assert crash.log_tail[:2] == ("line 1", "HSA_STATUS_ERROR")
