"""Options are checked when a campaign file is read, each mistake with its fix."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from arbor.core.campaign import load_campaign
from arbor.events.errors import InvalidInputError
from arbor.targets.registry import create_target
from arbor.targets.vllm.config import VllmTargetConfig, Workload


def test_defaults() -> None:
    config = VllmTargetConfig(model=Path("m"))
    assert config.workload.unit == 32
    assert config.client == "builtin"
    assert Workload(num_requests=5).unit == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "model"),
        ({"executable": "a", "python": "b"}, "executable and python are both given"),
        ({"args": {"--max-num-seqs": 4}}, "'--max-num-seqs' is no option"),
        ({"args": {"max_num_seqs": 4}}, "write one such as max-model-len"),
        ({"workload": {"request_rate": 4.0}}, "client: bench"),
        ({"workload": {"dataset": "text"}, "client": "bench"}, "the random dataset alone"),
        ({"workload": {"input_tokens": 8, "prefix_tokens": 8}}, "leaves nothing of input_tokens"),
        ({"modell": "x"}, "modell"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        VllmTargetConfig.model_validate({"model": "m"} | options if options else {})


def test_the_example_is_a_campaign() -> None:
    campaign = load_campaign(Path(__file__).parents[3] / "examples" / "vllm.yaml")
    config = VllmTargetConfig.model_validate(campaign.target_config)
    assert config.workload.concurrency == 64
    assert campaign.measure.window_s == 20


def test_a_rate_that_is_no_limit_is_a_word() -> None:
    text = "model: /m\nclient: bench\nworkload: {request_rate: inf}"
    assert VllmTargetConfig.model_validate(yaml.safe_load(text)).workload.request_rate == "inf"
    finite = {"model": "/m", "client": "bench", "workload": {"request_rate": 2}}
    assert VllmTargetConfig.model_validate(finite).workload.request_rate == 2.0


def test_the_registry_tells_where_a_mistake_is() -> None:
    with pytest.raises(InvalidInputError, match=r"target vllm: workload\.concurrency"):
        create_target("vllm", {"model": "/m", "workload": {"concurrency": 0}})
