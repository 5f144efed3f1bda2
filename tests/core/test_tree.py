"""The tree: what every event does to it, and what comes too late to do anything."""

from dataclasses import replace

from arbor.core.tree import ROOT_ID, Node, Status, Tree
from arbor.events.base import Event
from arbor.events.choice import ActionDispatched, ActionProposed, ActionScored, ActionWithdrawn
from arbor.events.evidence import AccuracyMeasured, BenchmarkMeasured, ProfileTaken
from arbor.events.judgement import IntrospectionRecorded, KeepRevoked, RootCauseFound
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.requests import ActionRebased, MeasurementRequested
from arbor.events.settings import Settings
from arbor.events.types import Edit, Effect, ReviveCondition, ScoreTerms
from arbor.events.work import PatchProposed
from tests.fakes.accuracy import accuracy_sample
from tests.fakes.recording import feed
from tests.fakes.stage import ROOT_COMMIT, profile, started, template

STARTED = started([template("a"), template("b"), template("c")], Settings())
EFFECT = Effect(
    ratio=1.2, low=1.1, high=1.3, alpha=0.05, num_pairs=3, sd_log_ratio=0.01, num_starts_per_arm=1
)
TERMS = ScoreTerms(
    share_ratio=0.5,
    speedup_ratio=1.5,
    cost_ratio=1.0,
    accuracy_risk_ratio=0.1,
    crash_risk_ratio=0.1,
    gap_ratio=1.0,
    num_tries=0,
    num_category_tries=0,
    exploration=0.1,
)


def _proposed(name: str) -> ActionProposed:
    return ActionProposed(action_id=name, template_id=name, node_id=ROOT_ID, reason="new")


def _dispatched(name: str, node: str, parent: str = ROOT_ID) -> ActionDispatched:
    return ActionDispatched(
        action_id=name,
        node_id=node,
        parent_id=parent,
        parent_commit=f"commit-{parent}",
        template_id=name,
        specialist="config",
        edits=(Edit(key=f"s.{name}", value=True),),
        brief="",
    )


def _patch(name: str, node: str) -> PatchProposed:
    return PatchProposed(
        action_id=name,
        node_id=node,
        base_commit="b",
        commit=f"commit-{node}",
        edits=(Edit(key=f"s.{name}", value=True),),
        diff_digest="d",
        validation="served",
    )


def _asked(name: str, node: str) -> MeasurementRequested:
    return MeasurementRequested(
        action_id=name,
        request_id=f"r-{node}",
        purpose="accuracy",
        node_id=node,
        parent_commit="b",
        incumbent_commit="b",
        seed=1,
    )


def _kept(name: str, node: str, parent: str = ROOT_ID) -> ActionKept:
    return ActionKept(
        action_id=name,
        node_id=node,
        parent_id=parent,
        commit=f"commit-{node}",
        edits=(Edit(key=f"s.{name}", value=True),),
        effect=EFFECT,
    )


def _crash(name: str, node: str | None, request: str | None = None) -> Crashed:
    return Crashed(
        action_id=name, node_id=node, request_id=request, phase="start", message="no luck"
    )


def _ready(name: str, node: str, parent: str = ROOT_ID) -> list[Event]:
    return [_proposed(name), _dispatched(name, node, parent), _patch(name, node)]


def _keep(name: str, node: str, parent: str = ROOT_ID) -> list[Event]:
    return [*_ready(name, node, parent), _asked(name, node), _kept(name, node, parent)]


def _tree(*events: Event) -> Tree:
    tree = Tree()
    feed(tree, [STARTED, *events])
    return tree


def _status(tree: Tree, node: str) -> Status:
    return tree.node(node).status


def test_the_root_is_the_frozen_baseline() -> None:
    tree = _tree()
    assert tree.current == Node(ROOT_ID, None, None, None, Status.KEPT, commit=ROOT_COMMIT)
    assert tree.config_at(ROOT_ID) == {"s.a": False, "s.b": False, "s.c": False, "s.size": 8}
    assert set(tree.templates) == {"a", "b", "c"}
    assert tree.gain_ratio(ROOT_ID) == 1.0


def test_a_proposal_waits_and_is_scored() -> None:
    scored = ActionScored(
        action_id="a", node_id=ROOT_ID, form="risk_averse", score=0.7, terms=TERMS
    )
    tree = _tree(_proposed("a"), scored)
    (action,) = tree.candidates()
    assert (action.score, action.is_candidate, action.position) == (0.7, True, 2)
    assert tree.in_flight() == ()


def test_a_dispatch_makes_a_node_that_is_not_in_force() -> None:
    tree = _tree(_proposed("a"), _dispatched("a", "n1"))
    assert _status(tree, "n1") is Status.WORKING
    assert tree.candidates() == ()
    assert [n.node_id for n in tree.in_flight()] == ["n1"]
    assert tree.current_id == ROOT_ID
    assert tree.config_at("n1")["s.a"] is True
    assert tree.config_at(ROOT_ID)["s.a"] is False


def test_patch_request_and_keep_move_it_on() -> None:
    tree = _tree(*_ready("a", "n1"))
    assert _status(tree, "n1") is Status.READY
    assert tree.node("n1").commit == "commit-n1"
    tree = _tree(*_ready("a", "n1"), _asked("a", "n1"))
    assert _status(tree, "n1") is Status.MEASURING
    tree = _tree(*_keep("a", "n1"))
    assert _status(tree, "n1") is Status.KEPT
    assert tree.current_id == "n1"
    assert tree.kept_templates("n1") == ("a",)
    assert tree.gain_ratio("n1") == 1.2
    assert tree.actions["a"].outcome is Status.KEPT


def test_evidence_stays_with_its_node() -> None:
    fields = {"request_id": "r", "node_id": "n1", "commit": "commit-n1"}
    taken = ProfileTaken.model_validate(fields | {"profile": profile(attention=1.0)})
    accuracy = AccuracyMeasured.model_validate(fields | {"sample": accuracy_sample(0.5)})
    measured = BenchmarkMeasured.model_validate(
        fields
        | {
            "purpose": "benchmark",
            "incumbent_commit": "b",
            "effect": EFFECT,
            "stop": "gain",
            "has_witness": True,
            "witness_detail": "",
            "mean_throughput_tok_s": 7.0,
        }
    )
    final = measured.model_copy(
        update={"purpose": "revalidation", "effect": EFFECT.model_copy(update={"ratio": 9.0})}
    )
    node = _tree(*_keep("a", "n1"), taken, accuracy, measured, final).node("n1")
    assert (node.profile, node.accuracy, node.effect) == (
        taken.profile,
        accuracy.sample,
        EFFECT,
    )
    assert node.throughput_tok_s == 7.0


def test_a_profile_is_inherited_until_there_is_a_new_one() -> None:
    taken = ProfileTaken(request_id="r", node_id=ROOT_ID, commit="c", profile=profile(all=1.0))
    tree = _tree(*_keep("a", "n1"))
    assert tree.profile_at("n1") is None
    tree = _tree(taken, *_keep("a", "n1"))
    assert tree.profile_at("n1") == taken.profile


def test_a_reversal_keeps_the_path() -> None:
    reverted = ActionReverted(action_id="b", node_id="n2", reason="no gain")
    tree = _tree(*_keep("a", "n1"), *_ready("b", "n2", "n1"), reverted)
    assert _status(tree, "n2") is Status.REVERTED
    assert tree.node("n2").reason == "no gain"
    assert tree.current_id == "n1"


def test_a_withdrawal_ends_candidates_and_work() -> None:
    withdrawn = ActionWithdrawn(action_id="a", reason="no time")
    tree = _tree(_proposed("a"), withdrawn)
    assert tree.candidates() == ()
    assert tree.actions["a"].outcome is Status.WITHDRAWN
    tree = _tree(*_ready("a", "n1"), withdrawn)
    assert _status(tree, "n1") is Status.WITHDRAWN


def test_a_rebase_makes_a_new_node() -> None:
    rebased = ActionRebased(
        action_id="b", from_node_id="n2", node_id="n3", parent_id="n1", parent_commit="commit-n1"
    )
    tree = _tree(*_ready("b", "n2"), *_keep("a", "n1"), rebased)
    assert _status(tree, "n2") is Status.REBASED
    new = tree.node("n3")
    assert (new.status, new.parent_id, new.parent_commit) == (Status.READY, "n1", "commit-n1")
    assert new.commit is None
    assert new.effect is None
    assert tree.actions["b"].node_id == "n3"
    assert tree.num_rebases == 1
    assert tree.config_at("n3") == {"s.a": True, "s.b": True, "s.c": False, "s.size": 8}


def test_a_crash_ends_the_work() -> None:
    tree = _tree(_proposed("a"), _dispatched("a", "n1"), _crash("a", "n1"))
    assert _status(tree, "n1") is Status.CRASHED
    assert tree.node("n1").reason == "no luck"
    tree = _tree(*_ready("a", "n1"), _asked("a", "n1"), _crash("a", "n1", "r-n1"))
    assert _status(tree, "n1") is Status.CRASHED


def test_a_crash_without_a_node_is_about_the_latest() -> None:
    tree = _tree(_proposed("a"), _dispatched("a", "n1"), _crash("a", None))
    assert _status(tree, "n1") is Status.CRASHED


def test_a_crash_that_comes_too_late_changes_nothing() -> None:
    """A specialist's process may break, or a server fall, after somebody else has decided."""
    vetoed = ActionVetoed(action_id="a", reason="no", by="human")
    working = [_proposed("a"), _dispatched("a", "n1")]
    tree = _tree(*working, vetoed, _crash("a", "n1"))
    assert _status(tree, "n1") is Status.VETOED
    assert tree.actions["a"].outcome is Status.VETOED
    tree = _tree(*_ready("a", "n1"), _crash("a", "n1"))
    assert _status(tree, "n1") is Status.READY
    tree = _tree(*_keep("a", "n1"), _crash("a", "n1"))
    assert _status(tree, "n1") is Status.KEPT
    tree = _tree(*_keep("a", "n1"), _crash("a", "n1", "r-n1"))
    assert (tree.current_id, _status(tree, "n1")) == ("n1", Status.KEPT)


def test_a_crash_of_an_earlier_node_is_not_the_later_ones() -> None:
    again = _dispatched("a", "n2")
    tree = _tree(
        _proposed("a"), _dispatched("a", "n1"), _crash("a", "n1"), again, _crash("a", "n1")
    )
    assert _status(tree, "n2") is Status.WORKING


def test_a_dispatch_again_forgets_the_crash() -> None:
    cause = RootCauseFound(
        action_id="a",
        cause="port_in_use",
        cause_group="leftover_state",
        blames_idea=False,
        evidence=(),
        confidence_ratio=0.9,
        remedy="again",
    )
    begun = [_proposed("a"), _dispatched("a", "n1"), _crash("a", "n1"), cause]
    assert _tree(*begun).actions["a"].root_cause == cause
    action = _tree(*begun, _dispatched("a", "n2")).actions["a"]
    assert (action.outcome, action.root_cause, action.num_dispatches) == (None, None, 2)
    assert _tree(*begun, _dispatched("a", "n2"), _crash("a", "n2")).actions["a"].root_cause is None


def test_a_patch_after_the_end_is_ignored() -> None:
    vetoed = ActionVetoed(action_id="a", reason="no", by="human")
    tree = _tree(_proposed("a"), _dispatched("a", "n1"), vetoed, _patch("a", "n1"))
    assert _status(tree, "n1") is Status.VETOED


def test_a_veto_stops_whatever_is_not_kept() -> None:
    vetoed = ActionVetoed(action_id="a", reason="no", by="human")
    assert _tree(_proposed("a"), vetoed).candidates() == ()
    assert _status(_tree(*_ready("a", "n1"), vetoed), "n1") is Status.VETOED
    reverted = ActionReverted(action_id="a", node_id="n1", reason="no gain")
    assert _status(_tree(*_ready("a", "n1"), reverted, vetoed), "n1") is Status.VETOED
    assert _status(_tree(*_keep("a", "n1"), vetoed), "n1") is Status.KEPT


def test_a_revoked_keep_suspends_what_was_kept_on_it() -> None:
    revoked = KeepRevoked(action_id="a", node_id="n1", reason="wrong")
    below = [*_keep("a", "n1"), *_keep("b", "n2", "n1")]
    tree = _tree(*below, *_ready("c", "n3", "n2"), revoked)
    assert tree.current_id == ROOT_ID
    assert _status(tree, "n1") is _status(tree, "n2") is Status.REVOKED
    assert tree.actions["b"].outcome is Status.REVOKED
    assert _status(tree, "n3") is Status.READY, "it is rebased when its turn comes"


def test_a_revoked_end_keeps_what_lies_before_it() -> None:
    below = [*_keep("a", "n1"), *_keep("b", "n2", "n1")]
    tree = _tree(*below, KeepRevoked(action_id="b", node_id="n2", reason="wrong"))
    assert tree.current_id == "n1"
    assert _status(tree, "n1") is Status.KEPT
    assert tree.gain_ratio("n1") == 1.2


def test_introspection_is_kept_with_the_action() -> None:
    revive = ReviveCondition(kept_any_of=("b",))
    recorded = IntrospectionRecorded(
        action_id="a", template_id="a", revive=revive, reasoning="later"
    )
    assert _tree(_proposed("a"), recorded).actions["a"].revive == revive


def test_what_is_said_about_nobody_is_harmless() -> None:
    tree = _tree(
        ActionVetoed(action_id="zz", reason="no", by="human"),
        ActionWithdrawn(action_id="zz", reason="no"),
        _crash("zz", None),
        Crashed(phase="profile", message="the baseline fell"),
    )
    assert tree.actions == {}
    assert _status(tree, ROOT_ID) is Status.KEPT


def test_history_is_in_order() -> None:
    tree = _tree(_proposed("a"), _proposed("b"))
    second = ActionProposed(action_id="a2", template_id="a", node_id=ROOT_ID, reason="again")
    feed(tree, [second], first=9)
    assert [a.action_id for a in tree.history("a")] == ["a", "a2"]


def _lossy_tree(*events: Event) -> Tree:
    """A tree whose template ``b`` changes numerics."""
    tree = Tree()
    templates = [template("a"), template("b", is_exact=False), template("c")]
    feed(tree, [started(templates, Settings()), *events])
    return tree


def test_a_path_claims_to_be_exact_when_all_of_it_does() -> None:
    path = [*_keep("a", "n1"), *_keep("b", "n2", "n1"), *_keep("c", "n3", "n2")]
    tree = _lossy_tree(*path)
    assert [tree.claims_exact(n) for n in (ROOT_ID, "n1", "n2", "n3")] == [
        True,
        True,
        False,
        False,
    ]
    assert tree.exact_prefix("n3").node_id == "n1"
    assert tree.exact_prefix("n1").node_id == "n1"
    assert _lossy_tree(*_keep("b", "n1")).exact_prefix("n1").node_id == ROOT_ID


def test_a_change_that_no_template_speaks_for_claims_nothing() -> None:
    tree = _lossy_tree(*_keep("a", "n1"))
    tree.nodes["n1"] = replace(tree.nodes["n1"], template_id=None)
    assert not tree.claims_exact("n1")
    tree.nodes["n1"] = replace(tree.nodes["n1"], template_id="z")
    assert not tree.claims_exact("n1")


def test_the_best_exact_part_is_the_one_with_the_greatest_gain() -> None:
    tree = _lossy_tree(*_keep("a", "n1"), *_keep("c", "n2", "n1"))
    assert tree.exact_prefix("n2").node_id == "n2"
    worse = EFFECT.model_copy(update={"ratio": 0.9})
    tree.nodes["n2"] = replace(tree.nodes["n2"], effect=worse)
    assert tree.exact_prefix("n2").node_id == "n1"
