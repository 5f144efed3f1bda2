"""The Orchestrator, event by event: what it starts, keeps, stops and never does."""

from collections.abc import Sequence

import pytest

from arbor.actors.orchestrator import Orchestrator
from arbor.core.tree import ROOT_ID, Status
from arbor.events.base import Event
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed
from arbor.events.choice import ActionDispatched, ActionProposed, ActionWithdrawn, RouteDecided
from arbor.events.errors import ConflictError
from arbor.events.judgement import KeepRevoked, MeasurementJudged
from arbor.events.limits import ActionVetoed, ConstraintLifted, ConstraintPublished
from arbor.events.outcome import ActionKept, ActionReverted
from arbor.events.requests import ActionRebased, MeasurementRequested
from arbor.events.settings import BudgetSettings, MeasureSettings, SearchSettings, Settings
from arbor.events.types import ConstraintScope, Edit, Layer, Parameter, Requirement
from tests.fakes.simulation import Simulation
from tests.fakes.stage import ROOT_COMMIT, Stage, template

PORT_BUSY = "[Errno 98] address already in use"
IDEA = "ValueError: this mode is not supported on this model"


def _settings(wall_s: float = 10_000.0, max_trials: int = 100, **search: object) -> Settings:
    return Settings(
        budget=BudgetSettings(wall_s=wall_s, max_trials=max_trials),
        search=SearchSettings.model_validate(search),
        measure=MeasureSettings(final_starts=2, soak_s=0.0),
    )


def _kinds(events: Sequence[Event]) -> list[str]:
    return [event.kind for event in events]


def _veto(stage: Stage, name: str) -> ActionVetoed:
    return ActionVetoed(action_id=stage.action_of(name), reason="not safe", by="human")


def _constraint(name: str, edits: tuple[Edit, ...] = ()) -> ConstraintPublished:
    scope = ConstraintScope(template_id=name, edits=edits)
    return ConstraintPublished(constraint_id=f"h-{name}", scope=scope, reason="broken here")


# The beginning


def test_asks_for_a_profile_and_a_calibration_first() -> None:
    stage = Stage(template("a"))
    said = stage.turn()
    assert [(e.kind, getattr(e, "purpose", "")) for e in said] == [
        ("MeasurementRequested", "profile"),
        ("MeasurementRequested", "noise"),
    ]
    stage.take_profile()
    assert "ActionDispatched" not in _kinds(stage.turn())
    stage.calibrate()
    assert "ActionDispatched" in _kinds(stage.turn())


def test_dispatches_the_best_of_each_layer_up_to_the_limit() -> None:
    stage = Stage(
        template("slow", prior_speedup_ratio=1.1),
        template("fast", prior_speedup_ratio=3.0),
        template("other", Layer.FRAMEWORK, prior_speedup_ratio=1.2),
        template("third", Layer.COMPILER, prior_speedup_ratio=1.15),
        settings=_settings(parallel=2),
    )
    said = stage.open()
    dispatched = [e for e in said if isinstance(e, ActionDispatched)]
    assert [e.template_id for e in dispatched] == ["fast", "other"]
    assert dispatched[0].parent_commit == ROOT_COMMIT
    assert "Hardware: test." in dispatched[0].brief
    assert "attention 50%" in dispatched[0].brief


def test_leaves_low_scores_alone() -> None:
    stage = Stage(template("a", prior_speedup_ratio=1.01), settings=_settings(min_score=0.2))
    said = stage.open()
    assert "ActionDispatched" not in _kinds(said)
    assert stage.has_request("revalidation")


def test_does_not_propose_what_is_not_applicable() -> None:
    needs = (Requirement(key="s.a", any_of=(True,)),)
    stage = Stage(
        template("a"), template("needy", requires=needs), template("off", edits=(), category="x")
    )
    said = stage.open()
    assert {e.template_id for e in said if isinstance(e, ActionProposed)} == {"a"}
    stage.keep("a")
    assert [a.template_id for a in stage.state.tree.actions.values()] == ["a", "needy"]


def test_numbers_are_routed_to_a_search_engine() -> None:
    space = (Parameter(key="s.size", kind="int", low=1, high=64),)
    stage = Stage(template("size", edits=(), space=space))
    said = stage.open()
    assert _kinds(said)[-2:] == ["RouteDecided", "ActionDispatched"]
    route, dispatch = said[-2:]
    assert isinstance(route, RouteDecided)
    assert isinstance(dispatch, ActionDispatched)
    assert (route.engine, dispatch.specialist) == ("tpe", "tuning")


def test_a_profile_that_cannot_be_had_does_not_stop_it() -> None:
    stage = Stage(template("a"))
    stage.turn()
    stage.break_measurement("profile", PORT_BUSY)
    stage.calibrate()
    assert "ActionDispatched" in _kinds(stage.turn())


def test_a_baseline_that_cannot_be_measured_ends_the_campaign() -> None:
    stage = Stage(template("a"), settings=_settings(max_attempts=2))
    stage.turn()
    stage.take_profile()
    stage.break_measurement("noise", PORT_BUSY)
    assert [e.kind for e in stage.turn()].count("MeasurementRequested") == 1
    stage.break_measurement("noise", PORT_BUSY)
    said = stage.turn()
    assert isinstance(said[-1], CampaignEnded)
    assert "could not be measured" in said[-1].reason
    stage.say(CampaignResumed(reason="repaired", added_wall_s=5.0), actor="supervisor")
    stage.turn()
    assert stage.has_request("noise")
    assert not stage.state.is_ended


# The two keys


def test_a_keep_needs_an_accepted_accuracy_and_an_accepted_benchmark() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    said = stage.turn()
    assert [e.purpose for e in said if isinstance(e, MeasurementRequested)] == ["accuracy"]
    stage.check_accuracy()
    said = stage.turn()
    assert _kinds(said) == ["MeasurementJudged", "MeasurementRequested"]
    stage.measure(1.4)
    said = stage.turn()
    assert _kinds(said)[:2] == ["MeasurementJudged", "ActionKept"]
    kept = said[1]
    assert isinstance(kept, ActionKept)
    assert (kept.parent_id, kept.commit) == (ROOT_ID, "commit-n001")
    assert stage.state.tree.current_id == "n001"


def test_no_judgement_no_keep() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(1.4)
    orchestrator = stage.reactors["orchestrator"]
    assert orchestrator.run_until_quiet() == 0
    assert stage.node_of("a").status is Status.MEASURING


def test_a_refused_accuracy_is_a_reversal_without_a_benchmark() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy(kl=0.5)
    said = stage.turn()
    assert "ActionReverted" in _kinds(said)
    assert not stage.has_request("benchmark")
    assert stage.node_of("a").reason.startswith("accuracy: KL up to")


@pytest.mark.parametrize(
    ("ratio", "has_witness", "candidate", "word"),
    [
        (0.95, True, None, "smallest gain that counts"),
        (1.0, True, None, "smallest gain that counts"),
        (1.4, False, None, "witness"),
        (1.4, True, {"num_failed": 2}, "failed_requests"),
        (1.4, True, {"num_output_tokens": 50}, "equal_work"),
    ],
)
def test_a_refused_benchmark_is_a_reversal(
    ratio: float, has_witness: bool, candidate: dict[str, object] | None, word: str
) -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(ratio, has_witness=has_witness, candidate=candidate)
    said = stage.turn()
    assert "ActionKept" not in _kinds(said)
    (reverted,) = (e for e in said if isinstance(e, ActionReverted))
    assert reverted.effect is not None
    assert word in reverted.reason


def test_a_judgement_of_another_request_is_no_key() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    accuracy = stage.state.measurement_of("n001", "accuracy")
    assert accuracy is not None
    stage.say(
        MeasurementJudged(
            action_id="a001",
            request_id=accuracy.asked.request_id,
            purpose="benchmark",
            is_accepted=True,
            reason="forged",
        )
    )
    assert "ActionKept" not in _kinds(stage.turn())


# Rebase


def test_a_keep_moves_waiting_patches_onto_it() -> None:
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK))
    stage.open()
    stage.work("b")
    stage.turn()
    stage.work("a")
    stage.check_accuracy()
    stage.turn()
    stage.measure(1.4)
    said = stage.turn()
    assert "ActionKept" in _kinds(said)
    assert "ActionRebased" not in _kinds(said), "the profile of the new node comes first"
    stage.take_profile()
    said = stage.turn()
    (rebased,) = (e for e in said if isinstance(e, ActionRebased))
    assert rebased.parent_id == stage.state.tree.current_id
    request = stage.request("accuracy").asked
    assert request.node_id == rebased.node_id
    assert request.parent_commit == rebased.parent_commit
    assert request.incumbent_commit == ROOT_COMMIT
    stage.check_accuracy()
    stage.turn()
    assert stage.request("benchmark").asked.incumbent_commit == rebased.parent_commit


def test_a_patch_that_no_longer_applies_is_withdrawn_and_comes_back_when_it_does() -> None:
    off = (Requirement(key="s.a", any_of=(False,)),)
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK, requires=off))
    stage.open()
    stage.work("b")
    stage.work("a")
    stage.turn()
    first = stage.request("accuracy").asked.node_id
    assert first == stage.node_of("a").node_id
    stage.check_accuracy()
    stage.turn()
    stage.measure(1.4)
    stage.turn()
    stage.take_profile()
    assert any(isinstance(e, ActionWithdrawn) and "needs s.a" in e.reason for e in stage.turn())
    stage.say(_veto(stage, "a"))
    stage.turn()
    assert stage.state.tree.current_id == ROOT_ID
    assert stage.node_of("b").status is Status.WORKING


# Vetoes and constraints


def test_a_veto_before_dispatch_keeps_the_template_out() -> None:
    stage = Stage(template("a"), template("b"))
    stage.open()
    assert stage.node_of("a").status is Status.WORKING
    stage.say(_veto(stage, "b"))
    assert "ActionProposed" not in _kinds(stage.turn())
    stage.keep("a")
    assert len(stage.state.tree.history("b")) == 1, "it must not come back under another name"
    assert stage.has_request("revalidation")


def test_a_veto_during_work_stops_it() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.say(_veto(stage, "a"))
    stage.turn()
    assert stage.node_of("a").status is Status.VETOED
    stage.work("a")
    stage.turn()
    assert not stage.has_request("accuracy")
    assert stage.has_request("revalidation")


def test_a_crash_after_a_veto_does_not_bring_it_back() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.say(_veto(stage, "a"))
    stage.break_work("a", PORT_BUSY)
    said = stage.turn()
    assert "ActionDispatched" not in _kinds(said)
    assert stage.node_of("a").status is Status.VETOED


def test_a_veto_during_the_measurement_stops_it() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.begin("benchmark")
    stage.say(_veto(stage, "a"))
    stage.turn()
    assert stage.node_of("a").status is Status.VETOED
    assert not stage.has_request("benchmark")
    assert "ActionKept" not in {r.event.kind for r in stage.events()}


def test_a_veto_after_the_judgement_beats_the_keep() -> None:
    """The keep was decided before the veto landed: the append is refused, then it is too late."""
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(1.4)
    stage.reactors["critic"].run_until_quiet()
    shell = stage.reactors["orchestrator"]
    late = Orchestrator()
    for recorded in stage.events():
        late.apply(recorded)
    batch = late.react(stage.clock.now())
    assert _kinds(batch) == ["ActionKept"]
    shell.journal.catch_up()
    stage.say(_veto(stage, "a"))
    with pytest.raises(ConflictError):
        shell.journal.decide(batch, late.watched_tags(batch), stage.clock.now())
    said = stage.turn()
    assert "ActionKept" not in _kinds(said)
    assert stage.node_of("a").status is Status.VETOED


@pytest.mark.parametrize(
    "event",
    [
        CampaignPaused(reason="lunch"),
        _constraint("a"),
        KeepRevoked(node_id=ROOT_ID, reason="the ground moved"),
    ],
)
def test_a_decision_is_refused_when_its_ground_moved(event: Event) -> None:
    stage = Stage(template("a"))
    stage.turn()
    stage.take_profile()
    stage.calibrate()
    late = Orchestrator()
    shell = stage.reactors["orchestrator"]
    while True:
        shell.journal.catch_up()
        for recorded in stage.log.read(after=late.state.position):
            late.apply(recorded)
        batch = late.react(stage.clock.now())
        if "ActionDispatched" in _kinds(batch):
            break
        assert shell.step()
    stage.say(event)
    with pytest.raises(ConflictError):
        shell.journal.decide(batch, late.watched_tags(batch), stage.clock.now())


def test_a_vetoed_keep_is_revoked_and_what_stood_on_it_is_rebuilt() -> None:
    stage = Stage(template("a"), template("b"))
    stage.open()
    stage.keep("a")
    top = stage.keep("b", ratio=1.3)
    tree = stage.state.tree
    assert tree.kept_templates(tree.current_id) == ("a", "b")
    assert stage.request("revalidation").asked.node_id == top.node_id
    stage.say(_veto(stage, "a"))
    said = stage.turn()
    assert [e.node_id for e in said if isinstance(e, KeepRevoked)] == ["n001"]
    tree = stage.state.tree
    assert tree.current_id == ROOT_ID
    assert tree.node(top.node_id).status is Status.REVOKED
    assert not stage.has_request("revalidation"), "a claim about a revoked stack is no end"
    again = stage.keep("rebuild_a003", ratio=1.3)
    assert (again.status, again.parent_id) == (Status.KEPT, ROOT_ID)
    assert again.edits == (Edit(key="s.b", value=True),)
    assert len(stage.state.tree.history("a")) == len(stage.state.tree.history("b")) == 1
    assert stage.request("revalidation").asked.node_id == again.node_id
    stage.measure(1.3, "revalidation")
    said = stage.turn()
    assert isinstance(said[-1], CampaignEnded)
    assert said[-1].node_id == again.node_id


def test_a_keep_revoked_when_there_is_no_time_left_is_claimed_without() -> None:
    stage = Stage(template("a"), settings=_settings(wall_s=100.0))
    stage.open()
    stage.keep("a")
    stage.clock.sleep(85.0)
    stage.measure(1.4, "revalidation")
    stage.say(_veto(stage, "a"))
    stage.turn()
    assert stage.request("revalidation").asked.node_id == ROOT_ID
    stage.measure(1.0, "revalidation")
    said = stage.turn()
    assert isinstance(said[-1], CampaignEnded)
    assert said[-1].node_id == ROOT_ID


def test_a_constraint_published_during_work_leads_to_a_veto() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.say(_constraint("a"))
    said = stage.turn()
    assert [e.by for e in said if isinstance(e, ActionVetoed)] == ["critic"]
    assert stage.node_of("a").status is Status.VETOED


def test_a_constraint_published_during_the_measurement_leads_to_a_veto() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.say(_constraint("a", (Edit(key="s.a", value=True),)))
    stage.turn()
    assert stage.node_of("a").status is Status.VETOED
    assert not stage.has_request("benchmark")


def test_a_constraint_withdraws_candidates_and_lifting_it_brings_them_back() -> None:
    stage = Stage(template("a"), template("b"))
    stage.open()
    stage.say(_constraint("b"))
    said = stage.turn()
    assert [e.action_id for e in said if isinstance(e, ActionWithdrawn)] == ["a002"]
    assert stage.turn() == []
    stage.say(ConstraintLifted(constraint_id="h-b", reason="fixed"))
    said = stage.turn()
    assert [e.template_id for e in said if isinstance(e, ActionProposed)] == ["b"]


# Crashes


def test_a_crash_of_the_environment_is_tried_again_up_to_the_limit() -> None:
    stage = Stage(template("a"), settings=_settings(max_attempts=3))
    stage.open()
    for _ in range(2):
        stage.break_work("a", PORT_BUSY)
        assert "ActionDispatched" in _kinds(stage.turn())
    stage.break_work("a", PORT_BUSY)
    said = stage.turn()
    assert "ActionDispatched" not in _kinds(said)
    assert stage.state.tree.actions["a001"].num_dispatches == 3
    assert stage.has_request("revalidation")


def test_tries_again_only_where_there_is_room() -> None:
    """The slot of a crashed action is taken before its cause is known."""
    stage = Stage(
        template("a"),
        template("b", Layer.FRAMEWORK, prior_speedup_ratio=1.2),
        settings=_settings(parallel=1, max_attempts=2),
    )
    stage.open()
    stage.break_work("a", PORT_BUSY)
    stage.turn()
    assert [n.template_id for n in stage.state.tree.in_flight()] == ["b"]
    stage.work("b")
    stage.turn()
    assert [n.template_id for n in stage.state.tree.in_flight()] == ["b", "a"]


def test_a_crash_of_the_idea_is_a_constraint_and_never_tried_again() -> None:
    stage = Stage(template("a"), template("b"))
    stage.open()
    stage.break_work("a", IDEA)
    said = stage.turn()
    (published,) = (e for e in said if isinstance(e, ConstraintPublished))
    assert published.scope.template_id == "a"
    assert published.scope.edits == (Edit(key="s.a", value=True),)
    stage.keep("b", attention=0.95, linear=0.05)
    assert len(stage.state.tree.history("a")) == 1
    assert stage.has_request("revalidation")


def test_an_incumbent_that_fails_is_not_the_candidates_fault() -> None:
    stage = Stage(template("a"), settings=_settings(max_attempts=2))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.break_measurement("accuracy", IDEA, is_candidate=False)
    assert _kinds(stage.turn()) == ["RootCauseFound", "MeasurementRequested"]
    stage.check_accuracy()
    stage.turn()
    stage.break_measurement("benchmark", IDEA, is_candidate=False)
    assert _kinds(stage.turn()) == ["RootCauseFound", "MeasurementRequested"]
    stage.break_measurement("benchmark", IDEA, is_candidate=False)
    said = stage.turn()
    (reverted,) = (e for e in said if isinstance(e, ActionReverted))
    assert reverted.reason.startswith("could not be measured (benchmark)")
    assert "ConstraintPublished" not in {r.event.kind for r in stage.events()}


def test_what_could_not_be_checked_did_not_fail_the_accuracy_gate() -> None:
    stage = Stage(template("a"), settings=_settings(max_attempts=1))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.break_measurement("accuracy", IDEA, is_candidate=False)
    stage.turn()
    action = stage.state.tree.actions["a001"]
    assert action.outcome is Status.REVERTED
    assert action.revive is not None
    assert action.revive.share_above_ratio < 1.0, "it may come back"


# Revival


def test_a_reverted_idea_comes_back_when_its_share_has_grown() -> None:
    stage = Stage(template("a"), template("b", prior_speedup_ratio=1.2))
    stage.open(attention=0.3, linear=0.7)
    stage.revert("a", ratio=1.0)
    assert len(stage.state.tree.history("a")) == 1
    stage.keep("b", attention=0.6, linear=0.4)
    again = stage.state.tree.history("a")[-1]
    assert again.revives == "a001"
    assert "attention now takes 60%" in again.reason
    assert stage.node_of("a").status is Status.WORKING


def test_a_reverted_idea_comes_back_when_it_is_unlocked() -> None:
    stage = Stage(template("a", unlocked_by=("b",)), template("b", prior_speedup_ratio=1.2))
    stage.open()
    stage.revert("a", ratio=1.0)
    stage.keep("b")
    again = stage.state.tree.history("a")[-1]
    assert (again.revives, again.reason) == ("a001", "b was kept since")


@pytest.mark.parametrize("max_revivals", [0, 1, 2])
def test_an_idea_comes_back_as_often_as_allowed(max_revivals: int) -> None:
    names = ("b", "c", "d", "e")
    stage = Stage(
        template("a", prior_speedup_ratio=3.0, unlocked_by=names),
        *(template(name, prior_speedup_ratio=1.2) for name in names),
        settings=_settings(max_revivals=max_revivals, parallel=1),
    )
    stage.open()
    stage.revert("a", ratio=1.0)
    for name in names:
        stage.keep(name)
        if stage.node_of("a").status is Status.WORKING:
            stage.revert("a", ratio=1.0)
    assert len(stage.state.tree.history("a")) == 1 + max_revivals


def test_an_idea_that_failed_the_gate_stays_dead() -> None:
    stage = Stage(template("a", unlocked_by=("b",)), template("b", prior_speedup_ratio=1.2))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy(kl=0.5)
    stage.turn()
    stage.keep("b", attention=0.9, linear=0.1)
    assert len(stage.state.tree.history("a")) == 1


# Budget, pause, end


def test_a_paused_campaign_starts_and_keeps_nothing() -> None:
    stage = Stage(template("a"), template("b"))
    stage.open()
    stage.say(CampaignPaused(reason="lunch"))
    stage.work("a")
    assert stage.turn() == []
    stage.say(CampaignResumed(reason="back"), actor="supervisor")
    stage.turn()
    assert stage.has_request("accuracy")


def test_dispatches_only_what_leaves_time_for_the_final_claim() -> None:
    """The claim needs two starts of 4 s with four pairs of 2 s each, and a tenth more."""
    enough = Stage(template("a", cost_s=10.0), settings=_settings(wall_s=46.5))
    assert "ActionDispatched" in _kinds(enough.open())
    scarce = Stage(template("a", cost_s=10.0), settings=_settings(wall_s=45.5))
    said = scarce.open()
    assert "ActionDispatched" not in _kinds(said)
    (withdrawn,) = (e for e in said if isinstance(e, ActionWithdrawn))
    assert withdrawn.reason == "budget: 36 s left"
    assert scarce.has_request("revalidation")


def test_prefers_a_cheaper_action_to_none() -> None:
    stage = Stage(
        template("best", cost_s=100.0, prior_speedup_ratio=20.0),
        template("cheap", cost_s=5.0, prior_speedup_ratio=1.02),
        settings=_settings(wall_s=60.0, exploration=0.0),
    )
    said = stage.open()
    assert [e.template_id for e in said if isinstance(e, ActionDispatched)] == ["cheap"]


def test_stops_what_would_use_the_time_of_the_final_claim() -> None:
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK), settings=_settings(wall_s=100.0))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.begin("accuracy")
    stage.clock.sleep(75.0)
    said = stage.turn()
    stopped = [e for e in said if isinstance(e, ActionWithdrawn)]
    assert len(stopped) == 2
    assert stopped[0].reason == "budget: 15 s left, which the final claim needs"
    assert stage.has_request("revalidation")
    assert not stage.has_request("accuracy")


def test_what_was_measured_in_time_is_still_judged_and_kept() -> None:
    stage = Stage(template("a"), settings=_settings(wall_s=100.0))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(1.4)
    stage.clock.sleep(75.0)
    orchestrator = stage.reactors["orchestrator"]
    assert orchestrator.run_until_quiet() == 0, "the verdict may still come"
    assert "ActionKept" in _kinds(stage.turn())


def test_what_was_stopped_for_time_comes_back_with_new_budget() -> None:
    stage = Stage(template("a"), settings=_settings(wall_s=100.0))
    stage.open()
    stage.clock.sleep(80.0)
    stage.turn()
    stage.measure(1.0, "revalidation")
    stage.turn()
    assert stage.state.is_ended
    stage.say(CampaignResumed(reason="more", added_wall_s=500.0), actor="supervisor")
    stage.turn()
    assert stage.node_of("a").status is Status.WORKING
    stage.keep("a")
    assert stage.request("revalidation").asked.node_id == stage.state.tree.current_id
    stage.measure(1.5, "revalidation")
    said = stage.turn()
    assert isinstance(said[-1], CampaignEnded)
    assert "holds" in said[-1].reason


def test_the_number_of_trials_is_a_limit() -> None:
    stage = Stage(template("a"), template("b"), settings=_settings(max_trials=1))
    stage.open()
    stage.keep("a")
    assert "b" not in {n.template_id for n in stage.state.tree.nodes.values()}
    assert stage.has_request("revalidation")


def test_a_final_claim_that_breaks_is_asked_for_again_up_to_the_limit() -> None:
    stage = Stage(template("a"), settings=_settings(max_attempts=2))
    stage.open()
    stage.keep("a")
    stage.break_measurement("revalidation", PORT_BUSY)
    stage.turn()
    stage.break_measurement("revalidation", PORT_BUSY)
    said = stage.turn()
    assert isinstance(said[-1], CampaignEnded)
    assert "could not be measured" in said[-1].reason


def test_nothing_new_starts_while_the_final_claim_is_made() -> None:
    stage = Stage(template("a"), template("b"))
    stage.open()
    stage.say(_constraint("b"))
    stage.turn()
    stage.keep("a")
    assert stage.has_request("revalidation")
    stage.say(ConstraintLifted(constraint_id="h-b", reason="fixed"))
    assert "ActionProposed" not in _kinds(stage.turn())


def test_an_ended_campaign_says_nothing_more() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.say(CampaignEnded(reason="x", node_id=ROOT_ID), actor="supervisor")
    assert stage.turn() == []


# Determinism


def test_the_same_log_and_clock_give_the_same_decisions(eventful: Simulation) -> None:
    """What the log says was decided after a position at a time is decided again by a new one."""
    fresh = Orchestrator()
    num = 0
    events = eventful.events()
    batches: dict[tuple[int, int], list[Event]] = {}
    for recorded in events:
        if recorded.actor == "orchestrator" and recorded.decided_after is not None:
            key = (recorded.decided_after, recorded.incarnation)
            batches.setdefault(key, []).append(recorded.event)
    moments = {r.decided_after: r.decided_at for r in events if r.actor == "orchestrator"}
    decided = {after: batch for (after, _), batch in batches.items()}
    for recorded in events:
        fresh.apply(recorded)
        moment = moments.get(recorded.position)
        if moment is not None:
            assert list(fresh.react(moment)) == decided[recorded.position]
            num += 1
    assert num == len(decided) > 50


def test_a_restart_decides_what_would_have_been_decided() -> None:
    stage = Stage(template("a"), template("b"))
    stage.open()
    stage.work("a")
    stage.restart()
    stage.turn()
    stage.check_accuracy()
    stage.restart()
    stage.turn()
    stage.measure(1.4)
    stage.restart()
    assert "ActionKept" in _kinds(stage.turn())
    kinds = [r.event.kind for r in stage.events()]
    assert kinds.count("ActionKept") == 1
