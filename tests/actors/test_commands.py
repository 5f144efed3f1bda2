"""What people may say, and the one line that says why not."""

from collections.abc import Sequence

import pytest

from arbor.actors.commands import (
    custom_template,
    known_template,
    parse_edits,
    refusal,
)
from arbor.core.state import CampaignState
from arbor.events.base import Event
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed
from arbor.events.choice import ActionProposed
from arbor.events.errors import InvalidInputError
from arbor.events.limits import (
    ActionApproved,
    ActionVetoed,
    ConstraintLifted,
    ConstraintPublished,
)
from arbor.events.outcome import ActionKept
from arbor.events.settings import SearchSettings, Settings
from arbor.events.types import ConstraintScope, Edit, Layer, Requirement
from tests.fakes.stage import Stage, template


def _stage(*named: str) -> Stage:
    needs = (Requirement(key="s.a", any_of=(True,)),)
    settings = Settings(search=SearchSettings(require_approval=named, parallel=1))
    stage = Stage(
        template("a", prior_speedup_ratio=3.0),
        template("b", Layer.FRAMEWORK),
        template("needy", requires=needs),
        settings=settings,
    )
    stage.open()
    return stage


def _veto(action_id: str) -> ActionVetoed:
    return ActionVetoed(action_id=action_id, reason="no", by="human")


def _proposed(name: str, **fields: object) -> ActionProposed:
    own = {
        "action_id": "h1",
        "template_id": name,
        "node_id": "n000",
        "reason": "try",
        "source": "human",
    }
    return ActionProposed.model_validate(own | fields)


def _refused(stage: Stage, event: Event) -> str:
    reason = refusal(stage.state, event)
    assert reason is not None, f"{event.kind} was accepted"
    assert "\n" not in reason
    return reason


def _accepted(stage: Stage, *events: Event) -> None:
    for event in events:
        assert refusal(stage.state, event) is None


def test_vetoes() -> None:
    stage = _stage()
    _accepted(stage, _veto("a001"), _veto("a002"))
    assert "no action 'a01'; known: a001" in _refused(stage, _veto("a01"))
    stage.keep("a")
    _accepted(stage, _veto("a001"))
    stage.say(_veto("a001"))
    assert "vetoed already" in _refused(stage, _veto("a001"))
    stage = _stage()
    stage.keep("a")
    stage.revert("b")
    assert "a002 is over (reverted)" in _refused(stage, _veto("a002"))


def test_a_part_of_a_rebuilt_path_is_not_over() -> None:
    stage = _stage()
    stage.keep("a")
    stage.keep("b")
    stage.say(_veto("a001"))
    stage.turn()
    assert stage.state.tree.actions["a002"].outcome == "revoked"
    _accepted(stage, _veto("a002"))
    assert "vetoed already" in _refused(stage, _veto("a001"))


def test_approvals() -> None:
    stage = _stage("framework")
    approved = ActionApproved(action_id="a002", by="ann")
    _accepted(stage, approved)
    assert "waits for nobody (at work)" in _refused(
        stage, ActionApproved(action_id="a001", by="ann")
    )
    assert "no action" in _refused(stage, ActionApproved(action_id="zz", by="ann"))
    stage.say(approved)
    assert "approved already by ann" in _refused(stage, approved)
    stage = _stage()
    assert "needs no approval" in _refused(stage, approved)


def test_proposals_of_the_catalog() -> None:
    stage = _stage()
    _accepted(stage, _proposed("b"))
    assert "no template 'bb' in the catalog; known: b" in _refused(stage, _proposed("bb"))
    assert "a is on its way already as a001" in _refused(stage, _proposed("a"))
    assert "needs s.a" in _refused(stage, _proposed("needy"))
    stage.say(_proposed("b"))
    assert "b is on its way already as h1" in _refused(stage, _proposed("b", action_id="h2"))
    assert "exists already" in _refused(stage, _proposed("b"))
    scope = ConstraintScope(template_id="needy")
    stage.say(ConstraintPublished(constraint_id="c1", scope=scope, reason="broken"))
    stage.keep("a")
    text = _refused(stage, _proposed("needy", action_id="h3"))
    assert "constraint c1: broken; `arbor lift` lifts it" in text


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ({"template_id": ""}, "a constraint needs a template"),
        ({"template_id": "bb"}, "no template 'bb'; known: b"),
        ({"template_id": "b", "below_node_id": "n9"}, "no node 'n9'; known: n000"),
        ({"template_id": "", "category": "heat"}, "no action touches 'heat'"),
        ({"template_id": "", "ranges": [{"key": "s.x", "low": 1}]}, "has no key 's.x'"),
        ({"template_id": "", "edits": [{"key": "s.y", "value": 1}]}, "has no key 's.y'"),
    ],
)
def test_a_constraint_has_to_name_what_there_is(scope: dict[str, object], words: str) -> None:
    limit = ConstraintPublished(
        constraint_id="h1", scope=ConstraintScope.model_validate(scope), reason="no"
    )
    assert words in _refused(_stage(), limit)


def test_a_constraint_by_a_human_is_published_once() -> None:
    stage = _stage()
    limit = ConstraintPublished(
        constraint_id="h1",
        scope=ConstraintScope(template_id="", layer=Layer.KERNEL, below_node_id="n000"),
        reason="no",
    )
    _accepted(stage, limit)
    stage.say(limit)
    assert "exists already" in _refused(stage, limit)


@pytest.mark.parametrize(
    "fields", [{"source": "orchestrator"}, {"source": "rebuild"}, {"revives": "a001"}]
)
def test_a_human_speaks_as_a_human(fields: dict[str, object]) -> None:
    assert "as a human" in _refused(_stage(), _proposed("b", **fields))


def test_proposals_of_own_edits() -> None:
    stage = _stage()
    own = custom_template(stage.state, [Edit(key="s.size", value=64)])
    assert own.template_id == "edit:s.size=64"
    assert not own.is_exact
    _accepted(stage, _proposed(own.template_id, template=own))
    forged = own.model_copy(update={"is_exact": True})
    assert "not what its edits make" in _refused(
        stage, _proposed(own.template_id, template=forged)
    )
    assert "no template 'other'" in _refused(stage, _proposed("other", template=own))
    same = custom_template(stage.state, [Edit(key="s.size", value=8)])
    assert "already in force" in _refused(stage, _proposed(same.template_id, template=same))
    both = custom_template(
        stage.state, [Edit(key="s.size", value=64), Edit(key="s.a", value=True)]
    )
    assert both.template_id == "edit:s.a=True,s.size=64", "equal edits are equal templates"
    assert (both.layer, both.category) == (Layer.KERNEL, "all")


def test_a_rebuilt_path_is_no_template_of_the_catalog() -> None:
    stage = _stage()
    stage.keep("a")
    stage.keep("b")
    stage.say(_veto("a001"))
    stage.turn()
    names = [name for name in stage.state.tree.templates if name.startswith("rebuild_")]
    assert "is made of other actions" in _refused(stage, _proposed(names[0]))


def test_limits_are_lifted_once() -> None:
    stage = _stage()
    lifted = ConstraintLifted(constraint_id="c1", reason="fixed")
    assert "there is none yet" in _refused(stage, lifted)
    scope = ConstraintScope(template_id="b")
    stage.say(ConstraintPublished(constraint_id="c1", scope=scope, reason="no"))
    _accepted(stage, lifted)
    stage.say(lifted)
    assert "no constraint 'c1' is in force" in _refused(stage, lifted)


def test_pauses_and_resumptions_alternate() -> None:
    stage = _stage()
    pause, resumed = CampaignPaused(reason="x"), CampaignResumed(reason="x")
    _accepted(stage, pause)
    assert "not paused" in _refused(stage, resumed)
    stage.say(pause)
    assert "paused already" in _refused(stage, pause)
    _accepted(stage, resumed)
    more = CampaignResumed(reason="x", added_wall_s=60.0)
    assert _refused(stage, more), "only `arbor resume` adds to the budget"


def test_nothing_is_said_to_what_has_ended_or_not_begun() -> None:
    stage = _stage()
    stage.say(CampaignEnded(reason="x", node_id="n000"), actor="supervisor")
    assert "has ended" in _refused(stage, CampaignPaused(reason="x"))
    reason = refusal(CampaignState(), CampaignPaused(reason="x"))
    assert reason is not None
    assert "not begun" in reason


def test_a_human_turns_no_key() -> None:
    stage = _stage()
    stage.keep("a")
    kept = stage.of_kind(ActionKept)[0]
    assert _refused(stage, kept) == "a human cannot say ActionKept"


def test_edits_are_read_in_the_type_of_their_key() -> None:
    state = _stage().state
    assert parse_edits(state, ["s.size=64", " s.a = TRUE "]) == (
        Edit(key="s.size", value=64),
        Edit(key="s.a", value=True),
    )


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["s.size"], "write --edit key=value"),
        (["=3"], "write --edit key=value"),
        (["s.size=big"], "'big' is no int"),
        (["s.size=1.5"], "is no int"),
        (["s.a=1"], "write true or false"),
        (["s.sise=3"], "no key 's.sise'; known: s.size"),
        (["s.size=3", "s.size=4"], "every key once"),
    ],
)
def test_wrong_edits(texts: Sequence[str], words: str) -> None:
    state = _stage().state
    with pytest.raises(InvalidInputError, match=words.replace("(", r"\(")):
        custom_template(state, parse_edits(state, texts))


def test_edits_that_the_catalog_has_are_the_catalogs() -> None:
    state = _stage().state
    found = known_template(state, parse_edits(state, ["s.b=true"]))
    assert found is not None
    assert found.template_id == "b"
    assert known_template(state, parse_edits(state, ["s.b=false"])) is None
