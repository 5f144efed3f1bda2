"""Every failed idea is asked when it keeps merit, and comes back when that holds."""

import pytest

from arbor.events.choice import ActionProposed
from arbor.events.judgement import IntrospectionRecorded
from arbor.events.limits import ConstraintLifted, ConstraintPublished
from arbor.events.settings import MeasureSettings, SearchSettings, Settings
from arbor.events.types import (
    ConstraintScope,
    Counter,
    Edit,
    Guard,
    GuardEffect,
    Layer,
    ReviveCondition,
    Witness,
)
from tests.fakes.stage import Stage, template

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
REFUSED = "RuntimeError: unsupported combination of a, b"
SETTINGS = Settings(measure=MeasureSettings(soak_s=0.0), search=SearchSettings(parallel=3))


def _said(stage: Stage) -> IntrospectionRecorded:
    return stage.of_kind(IntrospectionRecorded)[-1]


def _measure(stage: Stage, name: str, ratio: float, **measured: object) -> None:
    stage.work(name)
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(ratio, **measured)  # type: ignore[arg-type]
    stage.turn()


def _revived(stage: Stage, name: str) -> list[str]:
    return [e.reason for e in stage.of_kind(ActionProposed) if e.template_id == name and e.revives]


def test_a_gain_that_was_too_small_waits_for_the_bottleneck() -> None:
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK), settings=SETTINGS)
    stage.open(attention=0.3, linear=0.7)
    stage.revert("a", ratio=1.0)
    said = _said(stage)
    assert said.merit == ("bottleneck",)
    assert said.revive.share_above_ratio == pytest.approx(0.39)
    stage.keep("b", attention=0.5, linear=0.5)
    assert _revived(stage, "a") == ["attention now takes 50% of the time (above 39%)"]


def test_what_needs_another_waits_for_it() -> None:
    stage = Stage(
        template("a", unlocked_by=("b",)), template("b", Layer.FRAMEWORK), settings=SETTINGS
    )
    stage.open()
    stage.revert("a", ratio=1.0)
    assert _said(stage).merit == ("bottleneck", "needs_keep")
    stage.keep("b")
    assert _revived(stage, "a") == ["b was kept since"]


def test_an_inexact_stack_has_no_merit_anywhere() -> None:
    stage = Stage(template("a"), settings=SETTINGS)
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy(kl=0.5)
    stage.turn()
    assert _said(stage).merit == ("none",)
    assert _said(stage).revive == ReviveCondition()


# The insight of the paper: an optimisation of code that is never reached measures as nothing, and
# is worth its gain once the work takes the path that it lies on.


def _dead(stage: Stage) -> IntrospectionRecorded:
    """Measure a patch of a kernel that nothing calls."""
    _measure(stage, "kernel", 1.0, has_witness=False)
    return _said(stage)


def _kernel_stage() -> Stage:
    witness = Witness(kind="counter", key="attention.paged.calls")
    stage = Stage(
        template("kernel", witness=witness),
        template("backend", Layer.FRAMEWORK, category="dispatch"),
        template("same", Layer.COMPILER),
        settings=SETTINGS,
    )
    stage.open(attention=0.5, dispatch=0.5)
    return stage


def test_dead_code_was_not_refuted() -> None:
    said = _dead(_kernel_stage())
    assert said.merit == ("dead_code",)
    assert "the code that it changes did not run" in said.reasoning
    assert said.revive.live_counter == "attention.paged.calls"
    assert said.revive.kept_category == "attention"
    assert not said.revive.category, "that its category takes time does not make it run"


def test_dead_code_comes_back_when_its_counter_grows_on_the_path() -> None:
    stage = _kernel_stage()
    _dead(stage)
    counters = {"counters": (Counter(key="attention.paged.calls", value=7.0),)}
    _measure(stage, "backend", 1.5, candidate=counters)
    stage.take_profile(attention=0.5, dispatch=0.5)
    stage.turn()
    expected = "the code that it changes runs now: attention.paged.calls grows"
    assert _revived(stage, "kernel") == [expected]


def test_dead_code_stays_where_it_is_while_its_path_is_not_taken() -> None:
    stage = _kernel_stage()
    _dead(stage)
    counters = {"counters": (Counter(key="attention.paged.calls", value=0.0),)}
    _measure(stage, "backend", 1.5, candidate=counters)
    stage.take_profile(attention=0.9, dispatch=0.1)
    stage.turn()
    assert _revived(stage, "kernel") == [], "not even with a larger share of the time"


def test_dead_code_comes_back_when_a_keep_touches_its_category() -> None:
    stage = _kernel_stage()
    _dead(stage)
    _measure(stage, "same", 1.5)
    stage.take_profile(attention=0.5, dispatch=0.5)
    stage.turn()
    assert _revived(stage, "kernel") == [
        "same was kept since and may have sent attention another way"
    ]


def test_a_gain_that_a_guard_paid_for_has_merit_where_that_is_not_served() -> None:
    guard = Guard(name="long")
    own = SETTINGS.model_copy(update={"measure": MeasureSettings(soak_s=0.0, guards=(guard,))})
    stage = Stage(template("a"), settings=own)
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(
        1.4, guards=(GuardEffect(name="long", effect=stage.effect(0.8), max_loss_ratio=0.03),)
    )
    stage.turn()
    said = _said(stage)
    assert said.merit == ("other_workload",)
    assert said.revive == ReviveCondition(unguarded=("long",))
    assert _revived(stage, "a") == []


def test_what_a_constraint_forbade_at_the_end_comes_back_when_it_is_lifted() -> None:
    """It was measured and judged when the constraint came, just before the keep."""
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK), settings=SETTINGS)
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(1.4)
    stage.reactors["critic"].run_until_quiet()
    scope = ConstraintScope(template_id="a")
    stage.say(ConstraintPublished(constraint_id="h1", scope=scope, reason="not here"))
    stage.reactors["orchestrator"].run_until_quiet()
    stage.turn()
    said = _said(stage)
    assert said.merit == ("limit",)
    assert said.revive == ReviveCondition(lifted_constraint="h1")
    assert _revived(stage, "a") == []
    stage.say(ConstraintLifted(constraint_id="h1", reason="fixed"))
    stage.turn()
    assert _revived(stage, "a") == ["h1 was lifted"]


def test_an_implementation_that_met_a_limit_waits_for_its_end() -> None:
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK), settings=SETTINGS)
    stage.open()
    stage.break_work("a", OOM)
    stage.turn()
    (limit,) = stage.of_kind(ConstraintPublished)
    said = _said(stage)
    assert said.merit == ("implementation", "limit")
    assert said.revive.lifted_constraint == limit.constraint_id
    assert limit.scope.edits == (Edit(key="s.a", value=True),)
    assert _revived(stage, "a") == []
    stage.say(ConstraintLifted(constraint_id=limit.constraint_id, reason="more memory"))
    stage.turn()
    assert _revived(stage, "a") == [f"{limit.constraint_id} was lifted"]


def test_a_refuted_idea_has_no_merit() -> None:
    stage = Stage(template("a"), settings=SETTINGS)
    stage.open()
    stage.break_work("a", REFUSED)
    stage.turn()
    assert _said(stage).merit == ("none",)
