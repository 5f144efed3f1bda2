"""What people decide while a campaign runs: approvals, proposals, pauses; event by event."""

from collections.abc import Sequence

from arbor.core.tree import ROOT_ID, Status
from arbor.events.base import Event
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed
from arbor.events.choice import ActionDispatched, ActionProposed, ActionWithdrawn
from arbor.events.limits import ActionApproved
from arbor.events.requests import MeasurementRequested
from arbor.events.settings import BudgetSettings, SearchSettings, Settings
from arbor.events.types import Edit, Layer
from tests.fakes.stage import Stage, template


def _settings(wall_s: float = 10_000.0, **search: object) -> Settings:
    return Settings(
        budget=BudgetSettings(wall_s=wall_s), search=SearchSettings.model_validate(search)
    )


def _tried(said: Sequence[Event]) -> list[str]:
    return [e.template_id for e in said if isinstance(e, ActionDispatched)]


def _human(stage: Stage, name: str, edits: tuple[Edit, ...] = ()) -> ActionProposed:
    own = template(name, edits=edits, is_exact=False) if edits else None
    return ActionProposed(
        action_id=f"h-{name}",
        template_id=name,
        node_id=stage.state.tree.current_id,
        reason="try it",
        source="human",
        template=own,
    )


# Approvals


def test_what_needs_an_approval_is_scored_and_waits() -> None:
    stage = Stage(
        template("a"), template("b", Layer.FRAMEWORK), settings=_settings(require_approval=["a"])
    )
    said = stage.open()
    assert _tried(said) == ["b"]
    assert stage.state.tree.actions["a001"].score is not None
    stage.say(ActionApproved(action_id="a001", by="ann"))
    assert _tried(stage.turn()) == ["a"]


def test_a_layer_can_need_an_approval() -> None:
    stage = Stage(
        template("a"),
        template("b", Layer.FRAMEWORK),
        settings=_settings(require_approval=["framework"]),
    )
    assert _tried(stage.open()) == ["a"]


def test_the_end_waits_for_a_yes_as_long_as_there_is_time() -> None:
    stage = Stage(template("a"), settings=_settings(200.0, require_approval=["a"]))
    stage.open()
    assert not stage.has_request("revalidation")
    stage.clock.sleep(40.0)
    assert stage.turn() == []
    stage.clock.sleep(130.0)
    said = stage.turn()
    (withdrawn,) = (e for e in said if isinstance(e, ActionWithdrawn))
    assert withdrawn.reason.startswith("budget")
    assert stage.has_request("revalidation")


def test_a_second_look_does_not_wait_for_an_approval() -> None:
    stage = Stage(
        template("a"), template("b", Layer.FRAMEWORK), settings=_settings(require_approval=["a"])
    )
    stage.open()
    stage.work("b")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(1.012)
    assert _tried(stage.turn()) == ["b"]


def test_every_action_needs_its_own_approval() -> None:
    stage = Stage(
        template("a", unlocked_by=("b",)),
        template("b", Layer.FRAMEWORK),
        settings=_settings(require_approval=["a"]),
    )
    stage.open()
    stage.say(ActionApproved(action_id="a001", by="ann"))
    stage.turn()
    stage.revert("a", ratio=0.9)
    stage.keep("b")
    again = stage.state.tree.history("a")[-1]
    assert again.revives == "a001"
    assert again.is_candidate


# Proposals


def test_what_a_human_proposes_comes_first_whatever_its_score() -> None:
    stage = Stage(
        template("a", prior_speedup_ratio=3.0),
        template("b", prior_speedup_ratio=1.01),
        settings=_settings(parallel=1, min_score=0.2),
    )
    stage.turn()
    stage.take_profile()
    stage.turn()
    stage.say(_human(stage, "b"))
    stage.calibrate()
    said = stage.turn()
    assert _tried(said) == ["b"]
    assert [e.action_id for e in said if isinstance(e, ActionWithdrawn)] == ["a002"]


def test_a_human_needs_both_keys_too() -> None:
    stage = Stage(template("a"), settings=_settings(require_approval=["kernel"]))
    stage.open()
    stage.say(_human(stage, "a"))
    assert _tried(stage.turn()) == ["a"], "who proposes it has approved it"
    node = stage.revert("a", ratio=1.0)
    assert node.status is Status.REVERTED
    assert stage.state.tree.current_id == ROOT_ID


def test_a_humans_own_edits_are_a_template_from_then_on() -> None:
    stage = Stage(template("a"))
    stage.open()
    edits = (Edit(key="s.size", value=64),)
    stage.say(_human(stage, "edit:s.size=64", edits))
    assert "edit:s.size=64" not in _tried(stage.turn()), "its layer is busy"
    stage.keep("a")
    node = stage.keep("edit:s.size=64")
    assert node.status is Status.KEPT
    assert node.edits == edits
    assert stage.state.tree.config_at(node.node_id)["s.size"] == 64


def test_what_is_proposed_during_the_final_claim_waits_for_new_budget() -> None:
    stage = Stage(template("a"), template("b"), settings=_settings(max_revivals=0))
    stage.open()
    stage.revert("a", ratio=0.9)
    stage.revert("b", ratio=0.9)
    assert stage.has_request("revalidation")
    stage.say(_human(stage, "edit:s.size=64", (Edit(key="s.size", value=64),)))
    (withdrawn,) = stage.turn()
    assert isinstance(withdrawn, ActionWithdrawn)
    assert withdrawn.reason == "the final claim is being made"
    stage.measure(1.0, "revalidation")
    assert isinstance(stage.turn()[-1], CampaignEnded)
    stage.say(CampaignResumed(reason="more", added_wall_s=500.0), actor="supervisor")
    assert _tried(stage.turn()) == ["edit:s.size=64"]


# Pauses


def test_a_pause_starts_nothing_and_the_clock_stands() -> None:
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK), settings=_settings(200.0))
    stage.open()
    stage.work("a")
    stage.turn()
    stage.begin("accuracy")
    before = stage.state.budget.elapsed_s(stage.clock.now())
    stage.say(CampaignPaused(reason="lunch"))
    stage.clock.sleep(1_000.0)
    assert stage.state.budget.elapsed_s(stage.clock.now()) == before
    stage.work("b")
    stage.check_accuracy()
    said = stage.turn()
    assert [e.kind for e in said] == ["MeasurementJudged"], "what was measured is judged"
    stage.say(CampaignResumed(reason="back"))
    said = stage.turn()
    assert [e.purpose for e in said if isinstance(e, MeasurementRequested)] == ["benchmark"]
    assert stage.state.budget.elapsed_s(stage.clock.now()) == before


def test_a_paused_campaign_does_not_end() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.keep("a")
    stage.say(CampaignPaused(reason="think"))
    stage.measure(1.4, "revalidation")
    stage.turn()
    assert not stage.state.is_ended
    stage.say(CampaignResumed(reason="back"))
    assert isinstance(stage.turn()[-1], CampaignEnded)
