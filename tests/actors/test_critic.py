"""The Critic: gates, guardrails, root causes, constraints, introspection."""

import pytest

from arbor.actors.critic import Critic
from arbor.core.tree import Status
from arbor.events.base import Event
from arbor.events.causes import LogLine
from arbor.events.judgement import (
    IntrospectionRecorded,
    MeasurementFlagged,
    MeasurementJudged,
    RootCauseFound,
)
from arbor.events.limits import ActionVetoed, ConstraintPublished
from arbor.events.settings import SearchSettings, Settings
from arbor.events.types import Edit, Layer, Requirement, ReviveCondition
from tests.fakes.simulation import Simulation
from tests.fakes.stage import E, Stage, template

REFUSED = "RuntimeError: unsupported combination of a, b"


def _of(kind: type[E], said: list[Event]) -> list[E]:
    return [event for event in said if isinstance(event, kind)]


def _judged(stage: Stage, ratio: float, **measured: object) -> list[Event]:
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(ratio, **measured)  # type: ignore[arg-type]
    return stage.turn()


def test_an_inexact_ancestor_makes_a_stack_inexact() -> None:
    """A small distance that an earlier keep was allowed is not held against an exact action."""
    stage = Stage(template("lossy", is_exact=False), template("a", prior_speedup_ratio=1.2))
    stage.open()
    stage.work("lossy")
    stage.turn()
    stage.check_accuracy(kl=0.005)
    stage.turn()
    stage.measure(1.4)
    stage.turn()
    stage.take_profile()
    stage.turn()
    stage.work("a")
    stage.turn()
    stage.check_accuracy(kl=0.005)
    (judged,) = _of(MeasurementJudged, stage.turn())
    assert judged.is_accepted


def test_an_exact_action_is_held_to_its_claim() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy(kl=0.005)
    (judged,) = _of(MeasurementJudged, stage.turn())
    assert not judged.is_accepted


def test_arms_that_claim_to_be_exact_give_equal_tokens() -> None:
    """The action's own claim, and its whole path's: a lossy ancestor ends it."""
    stage = Stage(template("a"))
    stage.open()
    said = _judged(stage, 1.4, candidate={"output_digest": "x"}, incumbent={"output_digest": "y"})
    (judged,) = _of(MeasurementJudged, said)
    assert not judged.is_accepted
    assert judged.reason.startswith("exact_outputs: greedy tokens differ in 3 of 3 pairs")


def test_arms_that_may_differ_are_not_asked_for_equal_tokens() -> None:
    stage = Stage(template("a", is_exact=False))
    stage.open()
    said = _judged(stage, 1.4, candidate={"output_digest": "x"}, incumbent={"output_digest": "y"})
    (judged,) = _of(MeasurementJudged, said)
    assert judged.is_accepted


def test_flags_come_before_the_judgement_that_they_decide() -> None:
    stage = Stage(template("a"))
    stage.open()
    said = _judged(stage, 1.4, has_witness=False, candidate={"foreign_cpu_ratio": 0.9})
    assert [e.kind for e in said[:3]] == ["MeasurementFlagged"] * 2 + ["MeasurementJudged"]
    flags = [e for e in said if isinstance(e, MeasurementFlagged)]
    assert [(f.rule, f.severity) for f in flags] == [
        ("foreign_load", "suspect"),
        ("witness", "invalid"),
    ]


def test_a_suspicion_alone_does_not_refuse() -> None:
    stage = Stage(template("a"))
    stage.open()
    said = _judged(stage, 1.4, candidate={"foreign_cpu_ratio": 0.9})
    (judged,) = _of(MeasurementJudged, said)
    assert judged.is_accepted


def test_a_final_claim_has_to_be_faster_than_the_baseline_only() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.keep("a")
    stage.measure(1.04, "revalidation")
    said = stage.turn()
    (judged,) = _of(MeasurementJudged, said)
    assert judged.is_accepted
    assert judged.purpose == "revalidation"


@pytest.mark.parametrize(
    ("message", "fault", "num_constraints"),
    [
        ("[Errno 98] address already in use", "environment", 0),
        ("RuntimeError: no such kernel", "implementation", 1),
        (REFUSED, "idea", 1),
        ("nobody knows", "unknown", 0),
    ],
)
def test_every_crash_gets_its_cause_once(message: str, fault: str, num_constraints: int) -> None:
    stage = Stage(template("a"))
    stage.open()
    crash = stage.node_of("a")
    stage.break_work("a", message)
    stage.turn()
    (found,) = stage.of_kind(RootCauseFound)
    assert found.fault == fault
    assert found.blames_idea == (fault == "idea")
    assert found.action_id == crash.action_id
    assert len(stage.of_kind(ConstraintPublished)) == num_constraints
    stage.restart()
    stage.turn()
    assert len(stage.of_kind(RootCauseFound)) == 1


def test_a_constraint_is_about_what_ran() -> None:
    """The context is what kept actions changed; what the template needs anyway is left out."""
    needs = (Requirement(key="s.c", any_of=(True,)),)
    stage = Stage(
        template("b", prior_speedup_ratio=3.0),
        template("c", prior_speedup_ratio=2.0),
        template("a", requires=needs),
    )
    stage.open()
    stage.keep("b")
    stage.keep("c")
    stage.break_work("a", REFUSED)
    stage.turn()
    (published,) = stage.of_kind(ConstraintPublished)
    assert published.scope.edits == (Edit(key="s.a", value=True),)
    assert published.scope.context == (Edit(key="s.b", value=True),)


def test_constraints_get_names_of_their_own() -> None:
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK))
    stage.open()
    for name in ("a", "b"):
        stage.break_work(name, REFUSED)
    stage.turn()
    names = [c.constraint_id for c in stage.of_kind(ConstraintPublished)]
    assert names == ["c001", "c002"]


def test_a_late_crash_is_explained_but_changes_no_outcome() -> None:
    stage = Stage(template("a"))
    stage.open()
    action = stage.action_of("a")
    stage.say(ActionVetoed(action_id=action, reason="no", by="human"))
    stage.break_work("a", REFUSED)
    stage.turn()
    assert len(stage.of_kind(RootCauseFound)) == 1
    assert stage.state.tree.actions[action].outcome is Status.VETOED


def test_every_reversal_is_looked_at_once() -> None:
    stage = Stage(template("a", unlocked_by=("z",)))
    stage.open(attention=0.4, linear=0.6)
    stage.revert("a", ratio=1.0)
    (event,) = stage.of_kind(IntrospectionRecorded)
    assert event.revive.kept_any_of == ("z",)
    assert event.revive.category == "attention"
    assert event.revive.share_above_ratio == pytest.approx(0.52)
    assert event.causation_id == stage.state.outcome_event_ids["a001"]
    stage.restart()
    stage.turn()
    assert len(stage.of_kind(IntrospectionRecorded)) == 1


def test_crashes_are_looked_at_after_their_cause_is_known() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.break_work("a", "nobody knows")
    kinds = [e.kind for e in stage.turn()]
    assert kinds.index("RootCauseFound") < kinds.index("IntrospectionRecorded")


def test_an_implementation_that_failed_leaves_its_idea_alone() -> None:
    stage = Stage(template("a", unlocked_by=("z",)))
    stage.open()
    stage.break_work("a", "RuntimeError: no such kernel")
    stage.turn()
    (event,) = stage.of_kind(IntrospectionRecorded)
    assert event.revive.kept_any_of == ("z",)
    assert event.revive.category is None or not event.revive.category
    assert "implementation failed (missing_kernel_for_shape)" in event.reasoning


def test_what_every_idea_meets_becomes_no_further_constraint() -> None:
    names = ("a", "b", "c")
    layers = (Layer.KERNEL, Layer.FRAMEWORK, Layer.COMPILER)
    stage = Stage(*(template(n, layer) for n, layer in zip(names, layers, strict=True)))
    stage.open()
    for name in names:
        stage.break_work(name, REFUSED)
        stage.turn()
    faults = [found.fault for found in stage.of_kind(RootCauseFound)]
    assert faults[:3] == ["idea", "idea", "environment"]
    assert len(stage.of_kind(ConstraintPublished)) == 2


def test_the_whole_excerpt_is_diagnosed_with_its_numbers() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.break_work(
        "a",
        "the server ended with exit code 1",
        log_tail=("goodbye",),
        log_excerpt=(LogLine(number=77, text=REFUSED), LogLine(number=900, text="goodbye")),
    )
    stage.turn()
    (found,) = stage.of_kind(RootCauseFound)
    assert (found.evidence, found.evidence_line_numbers) == ((REFUSED,), (77,))


def test_the_same_log_gives_the_same_judgements(eventful: Simulation) -> None:
    fresh = Critic()
    decided: dict[int, list[Event]] = {}
    moments = {}
    for recorded in eventful.events():
        if recorded.actor == "critic" and recorded.decided_after is not None:
            decided.setdefault(recorded.decided_after, []).append(recorded.event)
            moments[recorded.decided_after] = recorded.decided_at
    for recorded in eventful.events():
        fresh.apply(recorded)
        moment = moments.get(recorded.position)
        if moment is not None:
            assert list(fresh.react(moment)) == decided.pop(recorded.position)
    assert not decided


def test_what_ended_whoever_worked_on_it_is_left_alone() -> None:
    stage = Stage(template("a"), settings=Settings(search=SearchSettings(max_attempts=2)))
    stage.open()
    for _ in range(2):
        stage.break_work("a", "the specialist died in each of 2 attempts")
        stage.turn()
    action = stage.state.tree.actions["a001"]
    assert action.num_dispatches == 2
    assert action.revive == ReviveCondition(), "nothing brings it back"
    said = stage.of_kind(IntrospectionRecorded)[-1]
    assert "it ended whoever worked on it" in said.reasoning
    assert not stage.of_kind(ConstraintPublished), "the environment may be to blame"
