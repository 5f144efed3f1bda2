"""Requests that end the bench each time are given up; deaths with the driver do not count."""

from arbor.actors.bench import Bench
from arbor.core.tree import Status
from arbor.events.choice import ActionDispatched
from arbor.events.life import IncarnationStarted
from arbor.events.outcome import Crashed
from arbor.events.requests import Purpose
from arbor.events.settings import SearchSettings, Settings
from tests.fakes.stage import Stage, template

BORN = IncarnationStarted(process_id=1, host="h")


def _stage(max_attempts: int = 2) -> Stage:
    settings = Settings(search=SearchSettings(max_attempts=max_attempts))
    stage = Stage(template("a"), settings=settings)
    stage.turn()
    return stage


def _die(stage: Stage, purpose: Purpose, *, with_driver: bool = False) -> None:
    """Begin an attempt, and be born again without a result."""
    stage.begin(purpose)
    if with_driver:
        stage.say(BORN, actor="supervisor")
    stage.say(BORN, actor=Bench.name)


def _given_up(stage: Stage) -> list[Crashed]:
    return [event for event in stage.turn() if isinstance(event, Crashed)]


def test_a_candidate_that_ends_the_bench_each_time_crashes_in_the_end() -> None:
    stage = _stage()
    stage.take_profile()
    stage.calibrate()
    stage.turn()
    stage.work("a")
    stage.turn()
    _die(stage, "accuracy")
    assert _given_up(stage) == []
    _die(stage, "accuracy")
    said = stage.turn()
    (crash,) = (e for e in said if isinstance(e, Crashed))
    assert crash.action_id == "a001"
    assert crash.message == "the bench died in each of 2 attempts at accuracy"
    cause = stage.state.crashes[-1].root_cause
    assert cause is not None
    assert (cause.cause, cause.fault) == ("worker_died", "environment")
    assert [e.template_id for e in said if isinstance(e, ActionDispatched)] == ["a"]
    stage.work("a")
    stage.turn()
    _die(stage, "accuracy")
    _die(stage, "accuracy")
    stage.turn()
    assert stage.node_of("a").status is Status.CRASHED
    assert stage.has_request("revalidation"), "the campaign goes on to its end"


def test_a_profile_that_ends_the_bench_is_gone_without() -> None:
    stage = _stage(max_attempts=1)
    _die(stage, "profile")
    (crash,) = _given_up(stage)
    assert crash.action_id is None
    stage.calibrate()
    assert any(isinstance(event, ActionDispatched) for event in stage.turn())


def test_a_calibration_that_ends_the_bench_ends_the_campaign() -> None:
    stage = _stage(max_attempts=1)
    stage.take_profile()
    _die(stage, "noise")
    assert len(_given_up(stage)) == 1
    assert stage.state.is_ended


def test_deaths_with_the_driver_are_nobodys_fault() -> None:
    stage = _stage(max_attempts=1)
    for _ in range(3):
        _die(stage, "profile", with_driver=True)
        assert _given_up(stage) == []
    assert stage.request("profile").num_lost == 0


def test_a_bench_that_is_born_again_between_attempts_lost_none() -> None:
    stage = _stage(max_attempts=1)
    stage.say(BORN, actor=Bench.name)
    assert _given_up(stage) == []
    stage.begin("profile")
    stage.say(BORN, actor="critic")
    assert _given_up(stage) == []
