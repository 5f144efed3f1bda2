"""Gains that could not be shown are measured again, with longer series, when time is left."""

from pathlib import Path

from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.tree import Status
from arbor.events.choice import ActionProposed
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.requests import MeasurementRequested
from arbor.events.settings import MeasureSettings, SearchSettings
from arbor.events.types import Layer, Parameter
from arbor.targets.landscape_config import random_landscape
from tests.fakes.simulation import Simulation
from tests.fakes.stage import Stage, template


def _simulation(folder: Path, wall_s: float, max_pairs: int = 5) -> Simulation:
    """Run a campaign whose series are too short for the smaller gains of the surface."""
    campaign = Campaign(
        target="landscape",
        budget=CampaignBudget(wall=wall_s),
        measure=MeasureSettings(max_pairs=max_pairs),
        seed=1,
    )
    simulation = Simulation(folder, campaign=campaign)
    simulation.run()
    return simulation


def test_an_inconclusive_gain_gets_a_longer_series_once_nothing_else_is_left(
    tmp_path: Path,
) -> None:
    simulation = _simulation(tmp_path, 900.0)
    looks = [e for e in simulation.of_kind(ActionProposed) if e.reason.startswith("inconclusive")]
    assert looks
    normal = simulation.campaign.measure.max_pairs
    state = simulation.state()
    for look in looks:
        first = state.tree.actions[look.revives or ""]
        effect = state.tree.node(first.node_id or "").effect
        assert effect is not None
        assert effect.ratio > simulation.campaign.measure.min_gain_ratio
        asked = [
            r
            for r in simulation.of_kind(MeasurementRequested)
            if r.action_id == look.action_id and r.purpose == "benchmark"
        ]
        lengths = [r.plan.max_pairs for r in asked if r.plan is not None]
        assert len(lengths) == len(asked)
        assert set(lengths) <= {2 * normal, 4 * normal}
    longest = max(
        r.effect.num_pairs
        for r in simulation.of_kind(BenchmarkMeasured)
        if r.purpose == "benchmark"
    )
    assert longest > normal


def test_short_campaigns_spend_nothing_on_second_looks(tmp_path: Path) -> None:
    simulation = _simulation(tmp_path, 150.0)
    proposed = simulation.of_kind(ActionProposed)
    assert proposed
    assert not any(e.reason.startswith("inconclusive") for e in proposed)


def test_numbers_are_searched_again_after_further_keeps() -> None:
    space = (Parameter(key="s.size", kind="int", low=1, high=64, log=True),)
    number = template("number", edits=(), space=space, prior_speedup_ratio=3.0)
    others = [template(name, Layer.FRAMEWORK) for name in ("a", "b", "c")]
    stage = Stage(number, *others)
    stage.open()
    stage.keep("number")
    for each in ("a", "b"):
        stage.keep(each)
    assert len(stage.state.tree.history("number")) == 1
    stage.keep("c")
    again = stage.state.tree.history("number")[-1]
    assert again.reason == "tuned before 3 other keeps; its optimum may have moved"
    assert again.revives is not None


def test_what_failed_before_the_last_keep_is_tried_again_once_time_is_left(
    tmp_path: Path,
) -> None:
    campaign = Campaign(
        target="landscape",
        budget=CampaignBudget(wall=4000.0),
        search=SearchSettings(max_revivals=20),
    )
    simulation = Simulation(tmp_path, random_landscape(5, 10), campaign)
    tree = simulation.run().tree
    late = [e for e in simulation.of_kind(ActionProposed) if e.reason.startswith("time is left")]
    assert late
    last = {a.template_id: a for a in tree.actions.values() if a.node_id is not None}
    config = tree.config_at(tree.current_id)
    for action in last.values():
        node = tree.node(action.node_id or "")
        is_in_force = all(config[edit.key] == edit.value for edit in node.edits)
        if action.parts or is_in_force:
            continue
        if node.status is Status.REVERTED and action.revive and action.revive.category:
            assert node.parent_id == tree.current_id, f"{action.template_id}: {node.reason}"
