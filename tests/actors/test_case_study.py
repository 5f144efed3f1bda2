"""The paper's case study as a campaign: its counts and its gain come out."""

from collections import Counter
from pathlib import Path

import pytest

from arbor.core.campaign import load_campaign
from arbor.core.tree import Status
from arbor.targets.landscape_config import LandscapeConfig
from tests.fakes.simulation import Simulation

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "case_study.yaml"


def test_nine_are_kept_sixteen_reverted_and_three_crash_and_recover(tmp_path: Path) -> None:
    campaign = load_campaign(EXAMPLE)
    config = LandscapeConfig.model_validate(campaign.target_config)
    simulation = Simulation(tmp_path, config, campaign)
    state = simulation.run()
    tree = state.tree
    latest = {action.template_id: action.outcome for action in tree.actions.values()}
    counts = Counter(latest.values())
    assert counts[Status.KEPT] == 9
    assert counts[Status.REVERTED] == 16
    assert counts[Status.CRASHED] == 3
    assert state.is_ended
    assert state.constraints.in_force
    assert 4405 * simulation.true_ratio() == pytest.approx(6515, rel=0.005)
