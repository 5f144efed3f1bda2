"""The campaign files of vLLM: every key is known, every action exists."""

from pathlib import Path

import pytest

from arbor.core.campaign import load_campaign
from arbor.targets.vllm.catalog import load_catalog
from arbor.targets.vllm.config import VllmTargetConfig
from tests.system.campaigns import REPOSITORY

FOLDER = REPOSITORY / "campaigns"


@pytest.mark.parametrize("name", ["vllm_cpu", "h200"])
def test_a_campaign_file_is_whole(name: str) -> None:
    campaign = load_campaign(FOLDER / f"{name}.yaml")
    config = VllmTargetConfig.model_validate(campaign.target_config)
    device = "cpu" if name == "vllm_cpu" else "nvidia"
    entries = {entry.id: entry for entry in load_catalog().entries}
    for action in config.actions:
        assert device in entries[action].applies.devices, action


def test_no_gpu_campaign_turns_multicast_on() -> None:
    """Programs that use it can put a shared host's accelerators out of service."""
    config = load_campaign(FOLDER / "h200.yaml").target_config
    assert config["env"]["NCCL_NVLS_ENABLE"] == "0"
    assert config["env"]["TORCH_SYMM_MEM_DISABLE_MULTICAST"] == "1"
    assert config["env"]["NVSHMEM_DISABLE_NVLS"] == "1"


def test_the_demonstration_lies_where_make_puts_it() -> None:
    config = load_campaign(FOLDER / "vllm_cpu.yaml").target_config
    recipe = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for path in (config["model"], config["checkpoints"][0]["path"]):
        assert str(Path(path)) in recipe
    assert str(Path(config["executable"]).parent.parent) in recipe
