"""The Critic tells what ails a campaign once, and its end; the Orchestrator and workers obey."""

import pytest

from arbor.actors.crew import DispatchBoard
from arbor.actors.remedies import clean
from arbor.core.health import (
    CRASH_LOOP_RECOVERY,
    STALL_MIN_S,
    THRASH_COUNT,
    THRASH_PAUSE_S,
)
from arbor.core.tree import Status
from arbor.events.choice import ActionWithdrawn
from arbor.events.life import HealthReported
from arbor.events.limits import ActionVetoed, ConstraintLifted, ConstraintPublished
from arbor.events.settings import BudgetSettings, MeasureSettings, SearchSettings, Settings
from arbor.events.types import Layer
from arbor.events.work import AttemptStarted, TrialMeasured
from tests.fakes.simulation import Simulation
from tests.fakes.stage import Stage, template

DAY = Settings(
    budget=BudgetSettings(wall_s=86_400.0),
    measure=MeasureSettings(soak_s=0.0),
    search=SearchSettings(max_attempts=1),
)
PORT = "[Errno 98] address already in use"
LAYERS = (Layer.KERNEL, Layer.FRAMEWORK, Layer.COMPILER, Layer.DISPATCH)


def _reports(stage: Stage, condition: str) -> list[HealthReported]:
    return [r for r in stage.of_kind(HealthReported) if r.condition == condition]


def _stage(*names: str, settings: Settings = DAY) -> Stage:
    stage = Stage(
        *(template(n, layer) for n, layer in zip(names, LAYERS, strict=False)), settings=settings
    )
    stage.open()
    return stage


def test_different_ideas_that_break_alike_are_a_fault_of_the_place() -> None:
    stage = _stage("a", "b", "c", "d")
    for name in ("a", "b", "c"):
        stage.break_work(name, PORT)
        stage.turn()
    (report,) = _reports(stage, "crash_loop")
    assert (report.subject, report.is_healthy) == ("port_in_use", False)
    assert "3 attempts at 3 ideas broke in a row" in report.detail
    assert report.recovery == CRASH_LOOP_RECOVERY
    assert stage.state.vitals.recovery == CRASH_LOOP_RECOVERY
    stage.restart()
    stage.turn()
    assert len(_reports(stage, "crash_loop")) == 1, "said once"


def test_a_crash_loop_is_over_when_something_works() -> None:
    stage = _stage("a", "b", "c", "d")
    for name in ("a", "b", "c"):
        stage.break_work(name, PORT)
        stage.turn()
    stage.work("d")
    stage.turn()
    assert [r.is_healthy for r in _reports(stage, "crash_loop")] == [False, True]


def test_one_idea_that_breaks_is_no_crash_loop() -> None:
    often = DAY.model_copy(update={"search": SearchSettings(max_attempts=4)})
    stage = _stage("a", settings=often)
    for _ in range(4):
        stage.break_work("a", PORT)
        stage.turn()
    assert stage.state.tree.actions["a001"].num_dispatches == 4
    assert not _reports(stage, "crash_loop")


def test_the_next_attempt_cleans_what_was_asked_for(simulation: Simulation) -> None:
    report = HealthReported(
        condition="crash_loop",
        subject="x",
        is_healthy=False,
        detail="",
        recovery=("free_disk",),
    )
    simulation.say(report)
    old = simulation.place.directory / "logs" / "s.log.1"
    old.parent.mkdir(exist_ok=True)
    old.touch()
    said = clean("none", simulation.place, simulation.state())
    assert said == ("removed the older half of s.log",)
    assert not old.exists()
    simulation.say(AttemptStarted(attempt=1))
    assert clean("none", simulation.place, simulation.state()) == ()


def test_work_without_a_sign_of_life_is_withdrawn_and_begun_again() -> None:
    stage = _stage("a")
    node = stage.node_of("a")
    stage.clock.sleep(STALL_MIN_S - 60.0)
    stage.turn()
    assert not _reports(stage, "stall")
    stage.clock.sleep(120.0)
    stage.turn()
    ill, well = _reports(stage, "stall")
    assert "its specialist gave no sign of life" in ill.detail
    assert (ill.subject, ill.recovery) == (node.action_id, ("end_leftovers",))
    assert well.is_healthy
    (withdrawn,) = stage.of_kind(ActionWithdrawn)
    assert withdrawn.reason.startswith("stall: ")
    again = stage.node_of("a")
    assert again.node_id != node.node_id
    assert again.status is Status.WORKING
    assert DispatchBoard(stage.state).has_stalled(node.node_id)
    assert not DispatchBoard(stage.state).has_stalled(again.node_id)


def test_a_trial_is_a_sign_of_life() -> None:
    stage = _stage("a")
    node = stage.node_of("a")
    for number in range(1, 4):
        stage.clock.sleep(STALL_MIN_S - 60.0)
        trial = TrialMeasured(
            action_id=node.action_id, trial=number, edits=(), throughput_tok_s=1.0, engine="tpe"
        )
        stage.say(trial, actor=f"specialist-{node.node_id}")
        stage.turn()
    assert not _reports(stage, "stall")


def test_a_bench_without_a_sign_of_life_is_told_and_left_alone() -> None:
    stage = _stage("a")
    stage.work("a")
    stage.turn()
    stage.clock.sleep(STALL_MIN_S + 60.0)
    stage.turn()
    (report,) = _reports(stage, "stall")
    assert "the bench gave no sign of life" in report.detail
    assert not stage.of_kind(ActionWithdrawn)
    stage.check_accuracy()
    stage.turn()
    assert [r.is_healthy for r in _reports(stage, "stall")] == [False, True]


def _thrash(stage: Stage) -> None:
    for _ in range(THRASH_COUNT):
        stage.clock.sleep(STALL_MIN_S + 60.0)
        stage.turn()


def test_what_is_undone_again_and_again_rests_for_a_while() -> None:
    stage = _stage("a", "b")
    stage.work("b")
    _thrash(stage)
    ill = _reports(stage, "thrash")[0]
    assert (ill.subject, ill.is_healthy) == ("a", False)
    (limit,) = stage.of_kind(ConstraintPublished)
    assert limit.scope.template_id == "a"
    assert limit.reason.startswith("thrash: work on it was undone")
    assert limit.lift.after_s == THRASH_PAUSE_S
    history = stage.state.tree.history("a")
    assert not any(a.is_candidate for a in history)
    stage.clock.sleep(THRASH_PAUSE_S + 1.0)
    stage.turn()
    (lifted,) = stage.of_kind(ConstraintLifted)
    assert "s have passed since" in lifted.reason
    assert [r.is_healthy for r in _reports(stage, "thrash")] == [False, True]
    assert len(stage.state.tree.history("a")) > len(history), "it is tried again"


def test_a_human_who_vetoes_once_makes_no_thrash() -> None:
    stage = _stage("a")
    kept = stage.keep("a")
    stage.say(ActionVetoed(action_id=kept.action_id, reason="no", by="human"))
    stage.turn()
    assert stage.state.vitals.num_undone == {"a": 1}
    assert not _reports(stage, "thrash")


@pytest.fixture
def simulation(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """A campaign that has begun, and nothing more."""
    return Simulation(tmp_path_factory.mktemp("simulation"))
