"""What a stack must stand beside its gain: peak load, and workloads that must not get worse."""

from pathlib import Path

from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.tree import Status
from arbor.events.campaign import CampaignEnded
from arbor.events.evidence import BenchmarkMeasured, SoakMeasured
from arbor.events.judgement import MeasurementJudged
from arbor.events.settings import MeasureSettings
from arbor.events.types import Guard, Load, Scalar
from arbor.targets.base import ServerFailedError
from arbor.targets.landscape import LandscapeConfig
from tests.fakes.simulation import Simulation

BUDGET = CampaignBudget(wall=400.0)


def _judged(simulation: Simulation, purpose: str) -> list[MeasurementJudged]:
    return [e for e in simulation.of_kind(MeasurementJudged) if e.purpose == purpose]


def test_a_claim_that_holds_is_followed_by_a_soak(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, campaign=Campaign(target="landscape", budget=BUDGET))
    simulation.run()
    (soak,) = simulation.of_kind(SoakMeasured)
    (verdict,) = _judged(simulation, "soak")
    (ended,) = simulation.of_kind(CampaignEnded)
    assert verdict.is_accepted
    assert soak.node_id == ended.node_id
    assert "it stood peak load" in ended.reason


def test_a_stack_that_falls_under_peak_load_is_not_called_good(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, campaign=Campaign(target="landscape", budget=BUDGET))

    def fall(_config: dict[str, Scalar], phase: str) -> None:
        asked = simulation.state().requests.open()
        if phase == "benchmark" and any(r.asked.purpose == "soak" for r in asked):
            raise ServerFailedError(phase, "out of memory", None, 9)

    simulation.target.hook = fall
    simulation.run()
    (ended,) = simulation.of_kind(CampaignEnded)
    assert "final claim holds" in ended.reason
    assert "it fell under peak load: out of memory" in ended.reason
    assert simulation.of_kind(SoakMeasured) == []


def test_a_soak_can_be_left_out(tmp_path: Path) -> None:
    campaign = Campaign(target="landscape", budget=BUDGET, measure=MeasureSettings(soak_s=0.0))
    simulation = Simulation(tmp_path, campaign=campaign)
    simulation.run()
    assert simulation.of_kind(SoakMeasured) == []
    assert len(simulation.of_kind(CampaignEnded)) == 1


def test_a_gain_that_costs_a_guarded_workload_is_not_kept(tmp_path: Path) -> None:
    landscape = LandscapeConfig()
    surface = landscape.resolved_surface()
    switches = tuple(
        s.model_copy(update={"workload_log_gains": {"long": -0.5}}) if s.name == "int8" else s
        for s in surface.switches
    )
    landscape = landscape.model_copy(
        update={"surface": surface.model_copy(update={"switches": switches})}
    )
    guard = Guard(name="long prompts", load=Load(workload="long"), max_loss_ratio=0.1)
    campaign = Campaign(
        target="landscape", budget=BUDGET, measure=MeasureSettings(guards=(guard,))
    )
    simulation = Simulation(tmp_path, landscape, campaign)
    state = simulation.run()
    assert "int8" not in state.tree.kept_templates(state.tree.current_id)
    reasons = [n.reason for n in state.tree.nodes.values() if n.template_id == "int8"]
    assert any("long prompts got worse" in reason for reason in reasons)
    kept = [n for n in state.tree.path(state.tree.current_id) if n.template_id]
    assert kept
    assert all(n.status is Status.KEPT for n in kept)
    final = [b for b in simulation.of_kind(BenchmarkMeasured) if b.purpose == "revalidation"]
    assert final[-1].guards[0].effect.ratio > 0.9
