"""Landscapes fitted from logs: what was measured is found again, and nothing else is made up."""

from pathlib import Path

import pytest

from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.errors import InvalidInputError
from arbor.events.settings import MeasureSettings, Settings
from arbor.events.types import Edit, Requirement
from arbor.targets.landscape_config import random_landscape
from arbor.targets.landscape_fit import fit_landscape
from tests.fakes.simulation import Simulation
from tests.fakes.stage import Stage, template


def test_an_empty_campaign_cannot_be_fitted() -> None:
    with pytest.raises(InvalidInputError, match="no profile"):
        fit_landscape(CampaignState())


def test_a_campaign_that_measured_nothing_cannot_be_fitted() -> None:
    stage = Stage(template("a"))
    stage.open()
    with pytest.raises(InvalidInputError, match="measured no action"):
        fit_landscape(stage.state)


def test_effects_conflicts_needs_and_crashes_come_back() -> None:
    stage = Stage(
        template("a"),
        template("needy", requires=(Requirement(key="s.a", any_of=(True,)),)),
        template("other", edits=(Edit(key="s.a", value="else"),), prior_speedup_ratio=1.01),
        settings=Settings(measure=MeasureSettings(soak_s=0.0)),
    )
    stage.open()
    stage.keep("a", 1.3)
    fitted = fit_landscape(stage.state)
    surface = fitted.resolved_surface()
    on = surface.baseline() | {"fitted.a": True}
    assert fitted.true_ratio(on) == pytest.approx(1.3, rel=1e-3)
    by_name = {switch.name: switch for switch in surface.switches}
    assert by_name["needy"].needs == ("a",)
    assert by_name["needy"].log_gain == 0.0
    assert by_name["a"].excludes == ("other",)
    crash = surface.crash(on | {"fitted.other": True})
    assert crash is not None
    assert "does not go with" in crash.message


def test_a_fitted_landscape_repeats_the_final_gain(tmp_path: Path) -> None:
    campaign = Campaign(target="landscape", budget=CampaignBudget(wall=900.0))
    simulation = Simulation(tmp_path, random_landscape(5, 10), campaign)
    state = simulation.run()
    fitted = fit_landscape(state)
    surface = fitted.resolved_surface()
    kept = state.tree.kept_templates(state.tree.current_id)
    config = surface.baseline() | {f"fitted.{name}": True for name in kept}
    expected = state.tree.gain_ratio(state.tree.current_id)
    assert fitted.true_ratio(config) == pytest.approx(expected, rel=0.25)
    assert all(
        surface.crash(surface.baseline() | {f"fitted.{action.template_id}": True}) is not None
        for action in state.tree.actions.values()
        if action.outcome is Status.CRASHED
        and all(
            node.effect is None
            for node in state.tree.nodes.values()
            if node.template_id == action.template_id
        )
        and not action.parts
    )
