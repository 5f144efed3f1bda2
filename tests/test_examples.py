"""Every file of ``examples/`` loads, and `arbor plan` shows what it would try where it can."""

from pathlib import Path

import pytest

from arbor.core.campaign import load_campaign
from arbor.targets.registry import create_target
from tests.cli.test_commands import output

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_can_be_planned(path: Path) -> None:
    campaign = load_campaign(path)
    target = create_target(campaign.target, campaign.target_config)
    if campaign.target == "vllm":
        # its actions depend on the model's folder, which is not there
        assert target.name == "vllm"
        return
    shown = output("plan", path)
    for action in campaign.target_config.get("actions", ()):
        assert action["id"] in shown
    assert "actions fit in" in shown


def test_the_documented_campaign_is_whole(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "docs" / "targets.md").read_text()
    blocks = [block.split("```")[0] for block in text.split("```yaml\n")[1:]]
    for number, block in enumerate(blocks):
        file = tmp_path / f"{number}.yaml"
        file.write_text(block)
        assert "actions fit in" in output("plan", file)
    assert blocks
