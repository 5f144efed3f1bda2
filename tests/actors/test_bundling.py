"""Gains too small to prove alone are tried together, once nothing else is left."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.tree import Status
from arbor.events.base import Event
from arbor.events.choice import ActionProposed
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import ActionKept
from arbor.events.settings import SearchSettings
from arbor.events.types import ActionTemplate, Edit, Layer
from arbor.targets.landscape_config import Noise, random_landscape
from tests.fakes.simulation import Simulation
from tests.fakes.stage import Stage, template

NAMES = ("a", "b", "c")


def _stage(*templates: ActionTemplate, ratios: Sequence[float] = (1.02, 1.03, 0.97)) -> Stage:
    """Return a stage on which all three actions were reverted."""
    stage = Stage(*(templates or (template(name, Layer.FRAMEWORK) for name in NAMES)))
    stage.open()
    for _ in NAMES:
        name = stage.state.tree.in_flight()[0].template_id or ""
        stage.revert(name, ratios[NAMES.index(name)])
    return stage


def _bundle(stage: Stage) -> ActionProposed:
    (proposed,) = (e for e in stage.of_kind(ActionProposed) if e.source == "bundle")
    return proposed


def test_two_small_gains_are_tried_as_one_node() -> None:
    stage = _stage()
    bundle = _bundle(stage)
    assert [part.template_id for part in bundle.parts] == ["b", "a"], "largest first, no loss"
    assert bundle.template is not None
    assert bundle.template.edits == (Edit(key="s.b", value=True), Edit(key="s.a", value=True))
    assert bundle.template.prior_speedup_ratio == pytest.approx(math.sqrt(1.02 * 1.03))
    assert [w.kind for w in bundle.template.witness.parts] == ["config", "config"]
    kept = stage.keep(bundle.template_id, 1.06)
    assert kept.status is Status.KEPT
    tree = stage.state.tree
    assert tree.kept_templates(tree.current_id) == ("b", "a")
    assert tree.config_at(tree.current_id)["s.a"] is True


def test_a_part_is_bundled_once() -> None:
    stage = _stage()
    bundle = _bundle(stage)
    stage.revert(bundle.template_id, 1.0)
    later = [e for e in stage.of_kind(ActionProposed) if e.source == "bundle"]
    assert later == [bundle]
    looks = [e for e in stage.of_kind(ActionProposed) if e.reason.startswith("inconclusive")]
    assert {e.template_id for e in looks} == {"a", "b"}, "each is looked at again alone"


def test_one_small_gain_is_no_bundle() -> None:
    stage = _stage(ratios=(1.02, 0.98, 0.97))
    assert not [e for e in stage.of_kind(ActionProposed) if e.source == "bundle"]


def test_parts_never_change_the_same_key() -> None:
    stage = _stage(
        template("a", edits=(Edit(key="s.size", value=9),)),
        template("b", edits=(Edit(key="s.size", value=10),)),
        template("c"),
        ratios=(1.02, 1.03, 1.015),
    )
    assert [part.template_id for part in _bundle(stage).parts] == ["b", "c"]


def test_a_veto_of_a_part_ends_the_bundle() -> None:
    stage = _stage()
    bundle = _bundle(stage)
    stage.say(
        ActionVetoed(action_id=bundle.parts[0].action_id, reason="no", by="human:ann"),
        actor="human:ann",
    )
    stage.turn()
    action = stage.state.tree.actions[bundle.action_id or ""]
    assert action.node_id is not None
    assert stage.state.tree.node(action.node_id).status is Status.WITHDRAWN


def test_whole_campaigns_prove_small_gains_together(tmp_path: Path) -> None:
    campaign = Campaign(
        target="landscape",
        budget=CampaignBudget(wall=3000.0),
        search=SearchSettings(max_revivals=0),
    )
    kept: list[Event] = []
    for seed in range(4):
        landscape = random_landscape(seed, 14).model_copy(update={"noise": Noise(window_sd=0.03)})
        simulation = Simulation(tmp_path / str(seed), landscape, campaign)
        tree = simulation.run().tree
        bundles = {e.action_id for e in simulation.of_kind(ActionProposed) if e.source == "bundle"}
        for event in simulation.of_kind(ActionKept):
            if event.action_id in bundles:
                kept.append(event)
                surface = simulation.target.surface
                before = surface.true_ratio(tree.config_at(event.parent_id))
                assert surface.true_ratio(tree.config_at(event.node_id)) > before
    assert kept
