"""Gains that could not be shown are measured again, with longer series, when time is left."""

from pathlib import Path

from arbor.core.campaign import Campaign, CampaignBudget
from arbor.events.choice import ActionProposed
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.requests import MeasurementRequested
from arbor.events.settings import MeasureSettings
from arbor.events.types import Layer, Parameter
from tests.fakes.simulation import Simulation
from tests.fakes.stage import Stage, template


def _simulation(folder: Path, wall_s: float, max_pairs: int = 5) -> Simulation:
    """Run a campaign whose series are too short for the smaller gains of the surface."""
    campaign = Campaign(
        target="landscape",
        budget=CampaignBudget(wall=wall_s),
        measure=MeasureSettings(max_pairs=max_pairs),
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
