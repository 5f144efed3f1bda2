"""Tree policies: each does what its first line says, and every campaign under each ends."""

from pathlib import Path

import pytest

from arbor.actors.policies import POLICIES, policy_named
from arbor.actors.policies.prospects import bound, prospects
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.tree import ROOT_ID, Status
from arbor.events.choice import ActionDispatched, ActionProposed, FrontierMoved
from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.events.outcome import ActionKept
from arbor.events.settings import MeasureSettings, SearchSettings, Settings
from arbor.events.types import Layer, Requirement
from arbor.targets.landscape_config import random_landscape
from tests.fakes.simulation import Simulation
from tests.fakes.stage import Stage, template


def _settings(policy: str, **search: object) -> Settings:
    own = SearchSettings.model_validate({"policy": policy, "parallel": 1} | search)
    return Settings(search=own, measure=MeasureSettings(soak_s=0.0))


def _dispatched(stage: Stage) -> list[str]:
    return [event.template_id for event in stage.of_kind(ActionDispatched)]


def test_an_unknown_policy_names_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match="known: depth_first, backtracking"):
        policy_named("random_walk")


def test_a_campaign_with_an_unknown_policy_is_not_founded(tmp_path: Path) -> None:
    search = SearchSettings(policy="random_walk")
    with pytest.raises(InvalidInputError, match="random_walk"):
        Simulation(tmp_path, campaign=Campaign(target="landscape", search=search))


def test_a_campaign_with_an_unknown_engine_is_not_founded(tmp_path: Path) -> None:
    search = SearchSettings(engine="llm")
    with pytest.raises(InvalidInputError, match="'llm' is unknown here"):
        Simulation(tmp_path, campaign=Campaign(target="landscape", search=search))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_campaign_ends_with_its_best_stack(policy: str, tmp_path: Path) -> None:
    campaign = Campaign(
        target="landscape",
        budget=CampaignBudget(wall=500.0),
        search=SearchSettings(policy=policy),
    )
    simulation = Simulation(tmp_path, random_landscape(3, 10), campaign)
    state = simulation.run()
    tree = state.tree
    assert state.is_ended
    assert not tree.in_flight()
    assert simulation.of_kind(ActionKept)
    assert tree.current.status is Status.KEPT
    kept = [n for n in tree.nodes.values() if n.status is Status.KEPT]
    best = max(tree.gain_ratio(node.node_id) for node in kept)
    assert tree.gain_ratio(tree.current_id) == pytest.approx(best)


def _after_a_small_keep(policy: str) -> Stage:
    """Return a campaign that kept what excludes a larger gain, prepared beside it."""
    stage = Stage(
        template("small", prior_speedup_ratio=2.0, cost_s=1.0),
        template(
            "large",
            Layer.FRAMEWORK,
            prior_speedup_ratio=4.0,
            cost_s=100.0,
            conflicts=(Requirement(key="s.small", any_of=(True,)),),
        ),
        settings=_settings(policy),
    )
    stage.open()
    stage.keep("small", 1.05)
    stage.work("large")
    stage.turn()
    return stage


def test_backtracking_goes_back_for_what_a_keep_excludes_and_ends_at_the_best_stack() -> None:
    stage = _after_a_small_keep("backtracking")
    (move,) = stage.of_kind(FrontierMoved)
    assert (move.from_node_id, move.node_id) == ("n001", ROOT_ID)
    assert "from there" in move.reason
    assert _dispatched(stage)[-1] == "large"
    assert stage.state.tree.current_id == ROOT_ID
    stage.revert("large")
    kept = [n for n in stage.state.tree.nodes.values() if n.template_id == "small"]
    assert stage.state.tree.current_id in {n.node_id for n in kept if n.status is Status.KEPT}


def test_the_default_stays_where_backtracking_goes_back() -> None:
    stage = _after_a_small_keep("depth_first")
    assert not stage.of_kind(FrontierMoved)
    assert stage.state.tree.current_id == stage.node_of("small").node_id
    assert stage.has_request("revalidation")


def test_a_bound_counts_of_two_that_exclude_each_other_the_larger() -> None:
    stage = Stage(
        template("small", prior_speedup_ratio=1.2),
        template(
            "large",
            prior_speedup_ratio=4.0,
            conflicts=(Requirement(key="s.small", any_of=(True,)),),
        ),
        settings=_settings("backtracking"),
    )
    stage.open()
    open_here = prospects(stage.state, ROOT_ID)
    (taken,) = set(_dispatched(stage))
    assert set(open_here) == {"small", "large"} - {taken}
    assert bound(stage.state, ROOT_ID) == pytest.approx(sum(open_here.values()))


@pytest.mark.parametrize("policy", ["uct", "puct"])
def test_a_bandit_may_leave_a_keep_that_gained_little(policy: str) -> None:
    names = [f"t{number}" for number in range(6)]
    stage = Stage(*(template(name) for name in names), settings=_settings(policy))
    stage.open()
    for _ in names:
        waiting = [n for n in stage.state.tree.nodes.values() if n.status is Status.WORKING]
        if not waiting:
            break
        stage.revert(waiting[0].template_id or "", 0.99)
    assert len(stage.of_kind(ActionDispatched)) == len(names)
    assert stage.state.tree.current_id == ROOT_ID


def test_greedy_ignores_cost_and_the_single_agent_ignores_the_profile() -> None:
    cheap = template("cheap", prior_speedup_ratio=1.3, cost_s=1.0)
    strong = template("strong", prior_speedup_ratio=2.0, cost_s=100.0)
    rare = template("rare", category="rare", prior_speedup_ratio=3.0, cost_s=50.0)
    first = {}
    for policy in ("depth_first", "greedy", "single_agent"):
        stage = Stage(cheap, strong, rare, settings=_settings(policy))
        stage.open(attention=0.95, rare=0.05)
        first[policy] = _dispatched(stage)[0]
    assert first == {"depth_first": "cheap", "greedy": "strong", "single_agent": "rare"}


def test_ablations_try_everything_once() -> None:
    stage = Stage(template("a"), settings=_settings("greedy"))
    stage.open()
    stage.revert("a", 1.005)
    assert _dispatched(stage) == ["a"]
    assert stage.has_request("revalidation")


def test_a_stack_is_kept_as_a_whole() -> None:
    names = ("a", "b", "c")
    stage = Stage(*(template(name) for name in names), settings=_settings("stacked"))
    stage.open()
    (stack,) = [e for e in stage.of_kind(ActionProposed) if e.source == "stack"]
    assert {part.template_id for part in stack.parts} == set(names)
    stage.keep(stack.template_id, 1.8)
    tree = stage.state.tree
    assert tree.config_at(tree.current_id) == dict.fromkeys(("s.a", "s.b", "s.c"), True) | {
        "s.size": 8
    }
    assert set(tree.kept_templates(tree.current_id)) == set(names)


def test_a_stack_that_failed_is_halved_and_risky_switches_stay_out() -> None:
    names = ("a", "b", "c", "d")
    risky = template("risky", prior_accuracy_risk_ratio=0.3)
    stage = Stage(*(template(name) for name in names), risky, settings=_settings("stacked"))
    stage.open()
    first = stage.of_kind(ActionProposed)[-1]
    assert {part.template_id for part in first.parts} == set(names)
    stage.revert(first.template_id, 0.9)
    second = [e for e in stage.of_kind(ActionProposed) if e.source == "stack"][-1]
    assert len(second.parts) == 2
    stage.revert(second.template_id, 0.9)
    third = [e for e in stage.of_kind(ActionProposed) if e.source == "stack"][-1]
    assert {part.template_id for part in third.parts} == set(names) - {
        part.template_id for part in second.parts
    }
