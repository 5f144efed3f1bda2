"""`arbor landscape fit` prints a campaign that simulates a recorded one."""

from pathlib import Path

from typer.testing import CliRunner

from arbor.cli.main import app
from arbor.core.campaign import load_campaign, parse_campaign
from arbor.targets.landscape_config import LandscapeConfig
from tests.replay.recorded import record

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_a_folder_without_a_campaign_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["landscape", "fit", str(tmp_path)])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


def test_the_printed_campaign_can_be_run_again(tmp_path: Path) -> None:
    directory = record(tmp_path / "c")
    done = CliRunner().invoke(app, ["landscape", "fit", str(directory)])
    assert done.exit_code == 0, done.output
    campaign = parse_campaign(done.stdout, "stdout")
    assert campaign.target == "landscape"
    surface = LandscapeConfig.model_validate(campaign.target_config).resolved_surface()
    assert any(switch.log_gain > 0 for switch in surface.switches)


def test_the_case_study_has_the_papers_counts() -> None:
    campaign = load_campaign(EXAMPLES / "case_study.yaml")
    config = LandscapeConfig.model_validate(campaign.target_config)
    surface = config.resolved_surface()
    assert len(surface.switches) == 30
    assert sum(switch.log_gain > 0 for switch in surface.switches) == 9
    assert sum(switch.log_gain < 0 for switch in surface.switches) == 16
    assert len(surface.crashes) == 3
