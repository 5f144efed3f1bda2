"""Rebuilt paths: one node from what survived a revocation, judged like any other."""

from collections.abc import Sequence

import pytest

from arbor.actors.choosing import inapplicable_reason
from arbor.actors.orchestrator import Orchestrator
from arbor.core.tree import ROOT_ID, Node, Status
from arbor.events.base import Event
from arbor.events.campaign import CampaignResumed
from arbor.events.choice import ActionDispatched, ActionProposed, ActionWithdrawn
from arbor.events.errors import ConflictError
from arbor.events.judgement import KeepRevoked
from arbor.events.limits import ActionVetoed, ConstraintLifted, ConstraintPublished
from arbor.events.outcome import ActionKept
from arbor.events.settings import SearchSettings, Settings
from arbor.events.types import ConstraintScope, Edit, Requirement
from tests.fakes.stage import Stage, template

NAMES = ("a", "b", "c")


def _stage(requires: tuple[Requirement, ...] = ()) -> Stage:
    """Return a campaign that kept a, b and c, one on the other."""
    settings = Settings(search=SearchSettings(parallel=1))
    stage = Stage(
        template("a", prior_speedup_ratio=3.0),
        template("b", prior_speedup_ratio=2.0),
        template("c", prior_speedup_ratio=1.5, requires=requires),
        settings=settings,
    )
    stage.open()
    for name in NAMES:
        stage.keep(name, ratio=1.3)
    assert stage.state.tree.kept_templates(stage.state.tree.current_id) == NAMES
    return stage


def _veto(stage: Stage, name: str) -> ActionVetoed:
    return ActionVetoed(action_id=stage.action_of(name), reason="not safe", by="human")


def _forbid(name: str) -> ConstraintPublished:
    return ConstraintPublished(
        constraint_id=f"h-{name}", scope=ConstraintScope(template_id=name), reason="broken here"
    )


def _rebuilt(said: Sequence[Event]) -> list[ActionProposed]:
    return [e for e in said if isinstance(e, ActionProposed) and e.source == "rebuild"]


def _on(*names: str) -> tuple[Edit, ...]:
    return tuple(Edit(key=f"s.{name}", value=True) for name in names)


def _path(stage: Stage) -> tuple[Node, ...]:
    tree = stage.state.tree
    return tree.path(tree.current_id)


def test_one_node_from_what_survived_with_two_keys_against_the_parent() -> None:
    stage = _stage()
    stage.say(_veto(stage, "a"))
    said = stage.turn()
    (proposed,) = _rebuilt(said)
    assert [part.template_id for part in proposed.parts] == ["b", "c"]
    assert [part.node_id for part in proposed.parts] == ["n003", "n005"]
    dispatched = [e for e in said if isinstance(e, ActionDispatched)]
    assert [(e.template_id, e.parent_id, e.edits) for e in dispatched] == [
        (proposed.template_id, ROOT_ID, _on("b", "c"))
    ], "nothing else comes back beside it"
    node = stage.keep(proposed.template_id, ratio=1.6)
    assert node.status is Status.KEPT
    assert stage.state.tree.kept_templates(node.node_id) == ("b", "c")
    assert [n.node_id for n in _path(stage)] == [ROOT_ID, node.node_id]
    benchmark = stage.state.measurement_of(node.node_id, "benchmark")
    assert benchmark is not None
    assert benchmark.asked.incumbent_commit == "commit-n000"
    assert stage.request("revalidation").asked.node_id == node.node_id


def test_a_revocation_in_the_middle_leaves_what_lies_before_it() -> None:
    stage = _stage()
    stage.say(_veto(stage, "b"))
    (proposed,) = _rebuilt(stage.turn())
    assert [part.template_id for part in proposed.parts] == ["c"]
    assert proposed.node_id == "n001"
    assert proposed.template is not None
    assert proposed.template.prior_speedup_ratio == pytest.approx(1.3)


def test_what_is_in_conflict_with_the_configuration_waits() -> None:
    conflict = Requirement(key="s.a", any_of=(True,))
    stage = Stage(template("a"), template("b", conflicts=(conflict,)))
    stage.open()
    assert inapplicable_reason(stage.state, stage.state.tree.templates["b"]) is None
    stage.keep("a", ratio=1.3)
    found = inapplicable_reason(stage.state, stage.state.tree.templates["b"])
    assert found == "does not go with s.a=True"


def test_the_last_keep_leaves_nothing_to_rebuild() -> None:
    stage = _stage()
    stage.say(_veto(stage, "c"))
    assert not _rebuilt(stage.turn())
    assert stage.state.tree.current_id == stage.node_of("b").node_id


def test_what_needed_the_revoked_commit_is_left_out() -> None:
    stage = _stage(requires=(Requirement(key="s.a", any_of=(True,)),))
    stage.say(_veto(stage, "a"))
    (proposed,) = _rebuilt(stage.turn())
    assert [part.template_id for part in proposed.parts] == ["b"]


def test_what_fails_comes_back_one_by_one() -> None:
    stage = _stage()
    stage.say(_veto(stage, "a"))
    (proposed,) = _rebuilt(stage.turn())
    stage.revert(proposed.template_id)
    tree = stage.state.tree
    again = [a for a in tree.actions.values() if a.position > tree.history("c")[0].position]
    names = [a.template_id for a in again if a.source == "orchestrator"]
    assert names == ["b", "c"]
    assert not tree.history("a")[1:]


def test_a_rebuild_whose_place_failed_is_tried_again_as_a_whole() -> None:
    stage = _stage()
    stage.say(_veto(stage, "a"))
    (proposed,) = _rebuilt(stage.turn())
    stage.break_work(proposed.template_id, "[Errno 98] address already in use")
    said = stage.turn()
    assert [e.template_id for e in said if isinstance(e, ActionDispatched)] == [
        proposed.template_id
    ]


@pytest.mark.parametrize("is_measured", [False, True])
def test_a_veto_of_a_part_on_the_way_starts_again_without_it(*, is_measured: bool) -> None:
    stage = _stage()
    stage.say(_veto(stage, "a"))
    (first,) = _rebuilt(stage.turn())
    if is_measured:
        stage.work(first.template_id)
        stage.turn()
        stage.begin("accuracy")
    stage.say(_veto(stage, "b"))
    said = stage.turn()
    (withdrawn,) = (e for e in said if isinstance(e, ActionWithdrawn))
    assert withdrawn.action_id == first.action_id
    assert "was vetoed" in withdrawn.reason
    (second,) = _rebuilt(said)
    assert [part.template_id for part in second.parts] == ["c"]
    assert not stage.has_request("accuracy")


def test_a_veto_of_a_part_after_its_keep_revokes_the_rebuilt_node() -> None:
    stage = _stage()
    stage.say(_veto(stage, "a"))
    (first,) = _rebuilt(stage.turn())
    stage.keep(first.template_id)
    stage.say(_veto(stage, "b"))
    said = stage.turn()
    (revoked,) = (e for e in said if isinstance(e, KeepRevoked))
    assert revoked.action_id == first.action_id
    assert revoked.reason.startswith("vetoed part a002")
    (second,) = _rebuilt(said)
    assert [part.template_id for part in second.parts] == ["c"]
    node = stage.keep(second.template_id)
    assert [n.node_id for n in _path(stage)] == [ROOT_ID, node.node_id]


def test_a_veto_of_the_rebuilt_node_gives_up_all_of_it() -> None:
    stage = _stage()
    stage.say(_veto(stage, "a"))
    (first,) = _rebuilt(stage.turn())
    stage.keep(first.template_id)
    stage.say(_veto(stage, first.template_id))
    said = stage.turn()
    assert not _rebuilt(said)
    back = [e.template_id for e in said if isinstance(e, ActionProposed)]
    assert back == ["b", "c"], "nothing was said against its parts"


def test_a_second_revocation_takes_a_rebuild_on_its_way_in() -> None:
    stage = _stage()
    stage.say(_veto(stage, "b"))
    (first,) = _rebuilt(stage.turn())
    assert first.node_id == "n001"
    stage.work(first.template_id)
    stage.turn()
    assert stage.has_request("accuracy")
    stage.say(_veto(stage, "a"))
    said = stage.turn()
    assert first.action_id in {e.action_id for e in said if isinstance(e, ActionWithdrawn)}
    (second,) = _rebuilt(said)
    assert (second.node_id, [part.template_id for part in second.parts]) == (ROOT_ID, ["c"])


def test_a_constraint_published_after_the_keep_does_the_same() -> None:
    stage = _stage()
    stage.say(_forbid("a"))
    said = stage.turn()
    (veto,) = (e for e in said if isinstance(e, ActionVetoed))
    assert (veto.action_id, veto.by, veto.constraint_id) == ("a001", "critic", "h-a")
    assert any(isinstance(e, KeepRevoked) for e in said)
    (proposed,) = _rebuilt(said)
    assert [part.template_id for part in proposed.parts] == ["b", "c"]


def test_a_constraint_reaches_into_a_rebuilt_node() -> None:
    stage = _stage()
    stage.say(_veto(stage, "a"))
    (first,) = _rebuilt(stage.turn())
    stage.keep(first.template_id)
    stage.say(_forbid("c"))
    said = stage.turn()
    assert any(isinstance(e, KeepRevoked) for e in said)
    (second,) = _rebuilt(said)
    assert [part.template_id for part in second.parts] == ["b"]


def test_what_a_lifted_constraint_forbade_is_a_candidate_again() -> None:
    stage = _stage()
    stage.say(_forbid("a"))
    (proposed,) = _rebuilt(stage.turn())
    stage.keep(proposed.template_id)
    assert len(stage.state.tree.history("a")) == 1
    assert stage.has_request("revalidation")
    stage = _stage()
    stage.say(_forbid("a"))
    stage.turn()
    stage.say(ConstraintLifted(constraint_id="h-a", reason="fixed"))
    stage.turn()
    again = stage.state.tree.history("a")[1:]
    assert [a.is_candidate for a in again] == [True]
    assert again[0].revives == "a001"


def test_a_template_stopped_at_work_by_a_constraint_comes_back_when_it_is_lifted() -> None:
    stage = Stage(template("a"), template("b"), settings=Settings())
    stage.open()
    stage.say(_forbid("a"))
    stage.turn()
    assert stage.node_of("a").status is Status.VETOED
    stage.say(ConstraintLifted(constraint_id="h-a", reason="fixed"))
    stage.turn()
    assert len(stage.state.tree.history("a")) == 2
    human = Stage(template("a"), template("b"))
    human.open()
    human.say(_veto(human, "a"))
    human.turn()
    assert len(human.state.tree.history("a")) == 1, "a human's reason does not go away by itself"


def test_a_restart_in_any_place_decides_the_same() -> None:
    stage = _stage()
    stage.say(_veto(stage, "a"))
    stage.reactors["critic"].run_until_quiet()
    stage.restart()
    (proposed,) = _rebuilt(stage.turn())
    stage.restart()
    stage.work(proposed.template_id)
    stage.restart()
    stage.turn()
    stage.check_accuracy()
    stage.restart()
    stage.turn()
    stage.measure(1.5)
    stage.restart()
    stage.turn()
    assert stage.node_of(proposed.template_id).status is Status.KEPT
    assert len([r for r in stage.events() if r.event.kind == "KeepRevoked"]) == 1


def _refused(stage: Stage, kind: type[Event], *meanwhile: Event) -> None:
    """Require that the Orchestrator's next decision falls when something lands before it."""
    shell = stage.reactors["orchestrator"]
    shell.journal.catch_up()
    late = Orchestrator()
    for recorded in stage.events():
        late.apply(recorded)
    batch = late.react(stage.clock.now())
    assert isinstance(batch[-1], kind)
    stage.say(*meanwhile)
    with pytest.raises(ConflictError):
        shell.journal.decide(batch, late.watched_tags(batch), stage.clock.now())


def test_a_keep_falls_when_any_keep_below_it_is_revoked_meanwhile() -> None:
    stage = _stage(requires=(Requirement(key="s.size", any_of=(8,)),))
    template_id = "edit:s.size=16"
    own = template(template_id, edits=(Edit(key="s.size", value=16),))
    stage.measure(2.0, "revalidation")
    proposed = ActionProposed(
        action_id="h1",
        template_id=template_id,
        node_id="n000",
        reason="x",
        source="human",
        template=own,
    )
    stage.turn()
    stage.say(CampaignResumed(reason="more", added_wall_s=100.0), proposed)
    stage.turn()
    stage.work(template_id)
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(1.5)
    stage.reactors["critic"].run_until_quiet()
    _refused(stage, ActionKept, KeepRevoked(action_id="a001", node_id="n001", reason="no"))


def test_a_rebuild_falls_when_a_part_is_vetoed_or_its_ground_is_revoked_meanwhile() -> None:
    for meanwhile in (
        ActionVetoed(action_id="a003", reason="no", by="human"),
        KeepRevoked(action_id="a001", node_id="n001", reason="no"),
    ):
        stage = _stage()
        stage.say(_veto(stage, "b"))
        stage.reactors["critic"].run_until_quiet()
        _refused(stage, ActionProposed, meanwhile)
