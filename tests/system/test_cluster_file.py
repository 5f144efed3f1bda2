"""``cluster.yaml`` is what ``ray up`` accepts, and says what Arbor needs."""

from typing import Any

import pytest
import yaml

from tests.system.campaigns import REPOSITORY

pytestmark = pytest.mark.system


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    # Importing Ray must not leave a token in the home of whoever runs the tests.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    content: dict[str, Any] = yaml.safe_load((REPOSITORY / "cluster.yaml").read_text())
    return content


def test_ray_accepts_it(config: dict[str, Any]) -> None:
    from ray.autoscaler._private.util import (  # noqa: PLC0415 - Ray reads its environment then
        prepare_config,
        validate_config,
    )

    validate_config(prepare_config(config))


def test_every_worker_may_join(config: dict[str, Any]) -> None:
    assert config["provider"]["type"] == "local"
    assert config["max_workers"] == len(config["provider"]["worker_ips"])


def test_every_node_starts_as_arbor_needs_it(config: dict[str, Any]) -> None:
    starts = [
        line
        for key in ("head_start_ray_commands", "worker_start_ray_commands")
        for line in config[key]
        if " ray start " in line
    ]
    assert len(starts) == 2
    for line in starts:
        for part in (
            "env -u ROCR_VISIBLE_DEVICES",
            "RAY_AUTH_MODE=token",
            "RAY_worker_niceness=0",
            "--disable-usage-stats",
        ):
            assert part in line
