"""The campaign files of the repository are ones; what a machine lacks is said before a start."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from arbor.cli.main import app
from arbor.core.campaign import load_campaign
from arbor.targets.hardware import probe_hardware
from arbor.targets.registry import create_target, target_names

FOLDER = Path(__file__).resolve().parents[2] / "campaigns"
FILES = sorted(FOLDER.glob("*.yaml"))
MI300X = FOLDER / "mi300x.yaml"
MANY = 4096
"""Accelerators that no machine has."""


def _plan(path: Path, **environment: str | None) -> Result:
    return CliRunner(env={"RAY_ADDRESS": None, **environment}).invoke(app, ["plan", str(path)])


def test_there_are_some() -> None:
    assert MI300X in FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_they_are_campaigns(path: Path) -> None:
    campaign = load_campaign(path)
    assert campaign.name == path.stem
    if campaign.target not in target_names():
        pytest.skip(f"no target {campaign.target} in this installation")
    assert create_target(campaign.target, campaign.target_config).name == campaign.target


def test_a_plan_for_mi300x_is_refused_where_there_are_none() -> None:
    if load_campaign(MI300X).target not in target_names():
        pytest.skip("no target vllm in this installation")
    if probe_hardware().num_devices >= 8:
        pytest.skip("this machine has them")
    refused = _plan(MI300X)
    assert refused.exit_code == 2
    assert "takes 8 accelerators and this machine has" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A campaign whose servers take more accelerators than any machine has."""
    path = tmp_path / "c.yaml"
    path.write_text(f"target: landscape\ntarget_config: {{num_devices: {MANY}}}\n")
    return path


def test_a_plan_beyond_this_machine_is_refused(wide: Path) -> None:
    refused = _plan(wide)
    assert refused.exit_code == 2
    assert f"takes {MANY} accelerators and this machine has" in refused.stderr
    assert "RAY_ADDRESS" in refused.stderr


def test_a_plan_for_a_named_cluster_is_shown(wide: Path) -> None:
    shown = _plan(wide, RAY_ADDRESS="10.0.0.1:6379")
    assert shown.exit_code == 0
    assert "batched_decode" in shown.stdout


def test_a_run_beyond_this_machine_is_refused_before_ray_starts(
    wide: Path, tmp_path: Path
) -> None:
    refused = CliRunner(env={"RAY_ADDRESS": None}).invoke(
        app, ["run", str(wide), "--dir", str(tmp_path / "campaign")]
    )
    assert refused.exit_code == 2
    assert f"takes {MANY} accelerators" in refused.stderr
    assert not (tmp_path / "campaign").exists()
