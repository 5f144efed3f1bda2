"""A fake vLLM that is installed once, a model folder, and targets over them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arbor.targets.vllm.target import VllmTarget, VllmTargetConfig
from tests.fakes.fake_vllm.install import install, make_model

MakeConfig = Callable[..., VllmTargetConfig]
MakeTarget = Callable[..., VllmTarget]

SMALL: dict[str, Any] = {
    "args": {"enforce-eager": True, "enable-prefix-caching": False, "max-num-seqs": 8},
    "workload": {
        "input_tokens": 48,
        "output_tokens": 12,
        "prefix_tokens": 32,
        "concurrency": 4,
        "num_requests": 8,
    },
    "check": {
        "dataset": "random",
        "num_sequences": 8,
        "num_tokens": 40,
        "num_first": 4,
        "long_tokens": 128,
        "num_long": 2,
    },
    "is_batch_invariant": True,
    # starts on a busy machine are slow, and nothing waits for these limits
    "start_limit_s": 120.0,
}


@pytest.fixture(scope="session")
def fake_vllm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program."""
    return install(tmp_path_factory.mktemp("vllm"))


@pytest.fixture(scope="session")
def fake_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model folder."""
    return make_model(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def make_config(
    fake_vllm: Path, fake_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> MakeConfig:
    """Make a configuration of a small workload; environments and options are added to it."""
    cache = tmp_path_factory.mktemp("cache")

    def make(**options: Any) -> VllmTargetConfig:
        merged = SMALL | {"executable": fake_vllm, "model": fake_model, "cache": cache}
        merged |= options
        merged["args"] = SMALL["args"] | options.get("args", {})
        return VllmTargetConfig.model_validate(merged)

    return make


@pytest.fixture(scope="session")
def make_target(make_config: MakeConfig) -> MakeTarget:
    """Make a target of a small workload."""

    def make(**options: Any) -> VllmTarget:
        return VllmTarget(make_config(**options))

    return make
