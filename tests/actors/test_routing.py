"""Routes of a campaign: the engine that is named works, and each layer has its own record."""

from pathlib import Path

from arbor.actors.routing import plays, probes
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.events.choice import RouteDecided
from arbor.events.settings import SearchSettings
from arbor.events.types import Layer, Parameter
from arbor.events.work import PlanProposed, TrialMeasured
from arbor.targets.landscape_config import random_landscape
from tests.fakes.simulation import Simulation
from tests.fakes.stage import template

SPACE = (Parameter(key="s.size", kind="int", low=1, high=64),)


def _simulation(folder: Path, engine: str) -> Simulation:
    campaign = Campaign(
        target="landscape",
        budget=CampaignBudget(wall=500.0),
        search=SearchSettings(engine=engine, router_arms=("random", "tpe")),
    )
    return Simulation(folder, random_landscape(3, 6), campaign)


def test_the_named_engine_searches(tmp_path: Path) -> None:
    simulation = _simulation(tmp_path, "random")
    simulation.run()
    assert {e.engine for e in simulation.of_kind(RouteDecided)} == {"random"}
    assert {e.engine for e in simulation.of_kind(TrialMeasured)} - {"none"} == {"random"}
    assert any("with random" in step for e in simulation.of_kind(PlanProposed) for step in e.steps)


def test_the_router_plays_each_arm_and_says_why(tmp_path: Path) -> None:
    simulation = _simulation(tmp_path, "router")
    state = simulation.run()
    routes = simulation.of_kind(RouteDecided)
    assert [e.engine for e in routes[:2]] == ["random", "tpe"]
    assert all(e.layer == "application" and e.language == "config" for e in routes)
    assert [arm.engine for arm in routes[0].arms] == ["random", "tpe"]
    assert {e.engine for e in simulation.of_kind(TrialMeasured)} >= {"random", "tpe"}
    here = plays(state, template("size", Layer.APPLICATION, space=SPACE))
    assert [play.engine for play in here[:2]] == ["random", "tpe"]
    assert all(play.gain >= 0.0 and play.cost >= 1 for play in here)
    assert not plays(state, template("size", Layer.KERNEL, space=SPACE))
    assert not plays(state, template("size", Layer.APPLICATION, space=SPACE, language="triton"))


def test_without_an_adviser_nothing_is_probed(tmp_path: Path) -> None:
    state = _simulation(tmp_path, "router").run()
    assert probes(state, template("size", Layer.APPLICATION, space=SPACE)).correct is None
