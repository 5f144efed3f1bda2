"""Where something was learned, and how much of it should hold somewhere else."""

from dataclasses import replace

import pytest

from arbor.core.scene import SAME, Scene, scene_of, transfer_ratio
from arbor.events.campaign import CampaignStarted
from arbor.events.settings import Settings
from arbor.events.types import Accelerator
from tests.fakes.stage import HARDWARE, started

HERE = Scene("vllm", "amd", "gfx942", "llama", "{}")


def _started(target_config: str, **hardware: object) -> CampaignStarted:
    return started((), Settings()).model_copy(
        update={
            "target_config": target_config,
            "hardware": HARDWARE.model_copy(update=hardware),
        }
    )


def test_a_scene_is_read_off_the_first_event() -> None:
    device = Accelerator(index=0, name="AMD Instinct MI300X", architecture="gfx942")
    config = '{"model":"/models/Llama-3.1-8B","workload":{"output_tokens":64},"args":{"x":1}}'
    scene = scene_of(_started(config, kind="amd", num_devices=1, devices=(device,)))
    assert scene == Scene(
        "landscape", "amd", "gfx942", "llama", '{"workload":{"output_tokens":64}}'
    )
    unnamed = device.model_copy(update={"architecture": ""})
    assert scene_of(_started("{}", devices=(unnamed,))).hardware == "AMD Instinct MI300X"


@pytest.mark.parametrize("config", ["{}", "[]", "7", "nonsense", "[" * 100_000])
def test_what_a_foreign_log_says_of_its_target_need_not_be_sense(config: str) -> None:
    scene = scene_of(_started(config))
    assert (scene.model_family, scene.workload) == ("", "")
    assert scene.hardware == "test"


def test_long_texts_are_cut() -> None:
    scene = scene_of(_started('{"model":"' + "m" * 5000 + '"}', device_name="d" * 5000))
    assert max(len(scene.model_family), len(scene.hardware)) == 120


def test_distance_discounts_in_the_documented_order() -> None:
    same = transfer_ratio(HERE, HERE)
    workload = transfer_ratio(replace(HERE, workload="other"), HERE)
    hardware = transfer_ratio(replace(HERE, hardware="gfx950"), HERE)
    vendor = transfer_ratio(replace(HERE, hardware="sm_90", kind="nvidia"), HERE)
    model = transfer_ratio(replace(HERE, model_family="qwen"), HERE)
    assert same == SAME
    assert same > workload > hardware > model > 0.0
    assert hardware > vendor
    both = transfer_ratio(replace(HERE, model_family="qwen", workload="other"), HERE)
    assert 0.0 < both < model
    assert transfer_ratio(replace(HERE, target="engine"), HERE) == 0.0
