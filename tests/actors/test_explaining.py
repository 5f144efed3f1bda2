"""Crashes of attempts and of trials become constraints that hold where they prove something."""

import pytest

from arbor.core.narrowing import RETEST_AFTER_KEEPS
from arbor.core.scopes import named_in
from arbor.events.causes import LogLine
from arbor.events.choice import ActionProposed
from arbor.events.judgement import RootCauseFound
from arbor.events.limits import ConstraintLifted, ConstraintPublished
from arbor.events.outcome import ActionReverted
from arbor.events.settings import MeasureSettings, SearchSettings, Settings
from arbor.events.types import Edit, Layer, Parameter, ValueRange
from arbor.events.work import TrialCrash, TrialMeasured
from tests.fakes.stage import Stage, template

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
NO_KERNEL = "RuntimeError: no kernel available for this shape"
SIZE = Parameter(key="s.size", kind="int", low=1, high=512)
SETTINGS = Settings(measure=MeasureSettings(soak_s=0.0), search=SearchSettings(parallel=4))


def _stage(**search: object) -> Stage:
    own = SearchSettings.model_validate({"parallel": 4} | search)
    stage = Stage(
        template("size", space=(SIZE,), edits=()),
        template("other_size", Layer.FRAMEWORK, space=(SIZE,), edits=()),
        template("flash", Layer.COMPILER),
        template("plain", Layer.DISPATCH),
        settings=SETTINGS.model_copy(update={"search": own}),
    )
    stage.open()
    return stage


def _trial(stage: Stage, value: int, line: str, number: int = 1, name: str = "size") -> None:
    """Let a specialist record a trial that broke."""
    node = stage.node_of(name)
    crash = TrialCrash(
        phase="start",
        message="the server ended",
        exit_code=1,
        log_excerpt=(LogLine(number=9, text=line),),
    )
    trial = TrialMeasured(
        action_id=node.action_id,
        attempt_id=f"{node.node_id}.1",
        trial=number,
        edits=(Edit(key="s.size", value=value),),
        throughput_tok_s=None,
        failure="the server ended",
        engine="tpe",
        crash=crash,
    )
    stage.say(trial, actor=f"specialist-{node.node_id}")


def _limits(stage: Stage) -> list[ConstraintPublished]:
    return stage.of_kind(ConstraintPublished)


def test_a_trial_that_ran_out_of_memory_limits_all_who_set_that_number() -> None:
    stage = _stage()
    _trial(stage, 256, OOM)
    stage.turn()
    (limit,) = _limits(stage)
    assert limit.scope.template_id == ""
    assert limit.scope.ranges == (ValueRange(key="s.size", low=256.0),)
    assert limit.scope.hardware == "test 1 GiB"
    assert limit.evidence == (OOM,)
    assert limit.lift.num_keeps == RETEST_AFTER_KEEPS
    assert limit.reason.startswith("oom_runtime: ")
    assert not stage.of_kind(RootCauseFound), "the search goes on: nothing of it crashed"


def test_what_a_constraint_says_already_is_not_said_again() -> None:
    stage = _stage()
    _trial(stage, 256, OOM)
    stage.turn()
    _trial(stage, 300, OOM, 2)
    _trial(stage, 300, OOM, 1, "other_size")
    stage.turn()
    assert len(_limits(stage)) == 1
    _trial(stage, 128, OOM, 3)
    stage.turn()
    assert [limit.scope.ranges[0].low for limit in _limits(stage)] == [256.0, 128.0]


def test_a_lifted_limit_does_not_come_back_by_what_was_before() -> None:
    stage = _stage()
    _trial(stage, 256, OOM)
    _trial(stage, 300, OOM, 2)
    stage.turn()
    stage.say(ConstraintLifted(constraint_id="c001", reason="more memory"))
    stage.turn()
    assert len(_limits(stage)) == 1
    _trial(stage, 280, OOM, 3)
    stage.turn()
    assert _limits(stage)[-1].lift.num_keeps == 2 * RETEST_AFTER_KEEPS, "it is believed longer"


@pytest.mark.parametrize("line", ["nobody knows", "RuntimeError: unsupported combination of a, b"])
def test_one_point_is_no_idea(line: str) -> None:
    stage = _stage()
    _trial(stage, 256, line)
    stage.turn()
    assert not _limits(stage)


def test_a_patch_that_lies_in_a_limit_is_stopped() -> None:
    stage = _stage()
    _trial(stage, 12, OOM)
    stage.turn()
    # the stage's specialist proposes 16
    stage.work("other_size")
    stage.turn()
    action = stage.state.tree.actions[stage.action_of("other_size")]
    assert stage.state.constraints.ban(action.action_id) is not None
    assert not [e for e in stage.of_kind(ActionReverted) if named_in(e.reason)]


def test_a_missing_kernel_is_not_asked_for_again() -> None:
    stage = _stage()
    stage.break_work("flash", NO_KERNEL)
    stage.turn()
    (limit,) = _limits(stage)
    assert limit.scope.edits == (Edit(key="s.flash", value=True),)
    assert (limit.scope.template_id, limit.lift.num_keeps) == ("", None)
    stage.keep("plain", attention=0.95, linear=0.05)
    proposed = [e for e in stage.of_kind(ActionProposed) if e.template_id == "flash"]
    assert len(proposed) == 1


def test_limits_end_when_the_stack_has_outgrown_them() -> None:
    names = ("b", "c", "d")
    stage = Stage(
        template("flash", Layer.COMPILER),
        *(template(n, Layer.KERNEL, prior_speedup_ratio=3.0) for n in names),
        settings=SETTINGS,
    )
    stage.open()
    stage.break_work("flash", OOM)
    stage.turn()
    for name in names[:-1]:
        stage.keep(name)
    assert not stage.of_kind(ConstraintLifted)
    stage.keep(names[-1])
    (lifted,) = stage.of_kind(ConstraintLifted)
    assert lifted.reason == "3 keeps changed the stack since"
    assert len(stage.state.tree.history("flash")) == 2


def test_who_does_not_learn_blames_nobody() -> None:
    stage = _stage(learn_from_crashes=False)
    _trial(stage, 256, OOM)
    stage.break_work("flash", NO_KERNEL)
    stage.turn()
    (found,) = stage.of_kind(RootCauseFound)
    assert (found.cause, found.fault) == ("unknown", "unknown")
    assert not _limits(stage)
