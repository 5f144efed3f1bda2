"""The supervisor ends a campaign only on a final claim about the stack that stands."""

from arbor.actors.supervisor import Supervisor
from arbor.events.campaign import CampaignEnded, CampaignResumed
from arbor.events.choice import ActionProposed
from arbor.events.limits import ActionVetoed
from arbor.events.types import Edit
from tests.fakes.stage import Stage, template


def _final(stage: Stage, ratio: float) -> CampaignEnded:
    stage.measure(ratio, "revalidation")
    last = stage.turn()[-1]
    assert isinstance(last, CampaignEnded)
    return last


def _stage() -> Stage:
    stage = Stage(template("a"))
    stage.open()
    stage.keep("a")
    return stage


def test_says_nothing_while_the_campaign_runs() -> None:
    assert Supervisor().react(_stage().clock.now()) == ()
    stage = _stage()
    assert not stage.state.is_ended
    assert stage.has_request("revalidation")


def test_ends_with_what_the_claim_says() -> None:
    stage = _stage()
    end = _final(stage, 1.4)
    assert end.reason.startswith("final claim holds: 1.4")
    assert end.node_id == stage.state.tree.current_id
    assert _final(_stage(), 0.9).reason.startswith("final claim does not hold")


def test_ends_once() -> None:
    stage = _stage()
    _final(stage, 1.4)
    stage.restart()
    assert stage.turn() == []


def test_a_veto_that_came_before_the_end_is_heard_first() -> None:
    """The veto of a kept action has landed, its revocation has not."""
    stage = _stage()
    stage.measure(1.4, "revalidation")
    stage.reactors["critic"].run_until_quiet()
    action = stage.action_of("a")
    stage.say(ActionVetoed(action_id=action, reason="no", by="human"))
    assert stage.reactors["supervisor"].run_until_quiet() == 0
    stage.turn()
    assert not stage.state.is_ended
    assert stage.request("revalidation").asked.node_id == "n000"


def test_a_veto_that_lands_meanwhile_refuses_the_end() -> None:
    stage = _stage()
    stage.measure(1.4, "revalidation")
    stage.reactors["critic"].run_until_quiet()
    late = Supervisor()
    for recorded in stage.events():
        late.apply(recorded)
    batch = late.react(stage.clock.now())
    assert [e.kind for e in batch] == ["CampaignEnded"]
    tags = late.watched_tags(batch)
    veto = ActionVetoed(action_id=stage.action_of("a"), reason="no", by="human")
    assert veto.tags() & tags
    assert CampaignResumed(reason="x").tags() & tags


def test_a_claim_of_an_earlier_session_is_no_end() -> None:
    stage = _stage()
    _final(stage, 1.4)
    stage.say(CampaignResumed(reason="more", added_wall_s=100.0), actor="supervisor")
    said = stage.turn()
    assert "CampaignEnded" not in {e.kind for e in said}
    assert stage.has_request("revalidation")
    assert _final(stage, 1.4).reason.startswith("final claim holds")


def test_what_a_human_proposes_during_the_claim_is_answered_before_the_end() -> None:
    stage = _stage()
    stage.measure(1.4, "revalidation")
    stage.reactors["critic"].run_until_quiet()
    late = Supervisor()
    for recorded in stage.events():
        late.apply(recorded)
    batch = late.react(stage.clock.now())
    assert [e.kind for e in batch] == ["CampaignEnded"]
    proposed = ActionProposed(
        action_id="h1",
        template_id="edit:s.size=64",
        node_id="n001",
        reason="x",
        source="human",
        template=template("edit:s.size=64", edits=(Edit(key="s.size", value=64),)),
    )
    assert proposed.tags() & late.watched_tags(batch)
    stage.say(proposed)
    assert stage.reactors["supervisor"].run_until_quiet() == 0
    assert [e.kind for e in stage.turn()] == ["ActionWithdrawn", "CampaignEnded"]
