"""The real vLLM on a processor: `make test-vllm`. A worker, and one whole campaign."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from arbor.core.tree import Node, Status, Tree
from arbor.replay.reading import open_campaign
from arbor.targets.base import ServerFailedError
from arbor.targets.serve_yaml import CONFIG_FILE, dump_config
from arbor.targets.vllm.target import VllmTarget, VllmTargetConfig
from tests.system.campaigns import REPOSITORY, environment
from tests.system.invariants import require_sound

_LIMIT_S = 1800.0
"""The campaign's budget, and the final claim of a slow machine."""
CAMPAIGN = REPOSITORY / "campaigns" / "vllm_cpu.yaml"

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(
        not (REPOSITORY / ".venv-vllm" / "bin" / "vllm").exists(), reason="`make vllm` makes it"
    ),
]


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> VllmTarget:
    """Return the target of the demonstration."""
    monkeypatch.chdir(REPOSITORY)
    text = CAMPAIGN.read_text(encoding="utf-8")
    return VllmTarget(VllmTargetConfig.model_validate(yaml.safe_load(text)["target_config"]))


def worktree(target: VllmTarget, folder: Path, **changes: Any) -> Path:
    """Return a folder with the baseline's configuration and changes to its options."""
    folder.mkdir()
    keys = {f"args.{name.replace('_', '-')}": value for name, value in changes.items()}
    (folder / CONFIG_FILE).write_bytes(dump_config({**target.baseline_config(), **keys}))
    return folder


def test_a_worker_plays_what_a_server_would(target: VllmTarget, tmp_path: Path) -> None:
    tree = worktree(target, tmp_path / "plain")
    with target.serve_for_screening(tree, tmp_path / "log") as server:
        first = target.benchmark(server, seed=1, num_requests=8)
        again = target.benchmark(server, seed=2, num_requests=8)
    workload = target.config.workload
    for sample in (first, again):
        assert (sample.num_completed, sample.num_failed) == (8, 0)
        assert sample.num_output_tokens == 8 * workload.output_tokens
        assert sample.num_input_tokens == 8 * workload.input_tokens


def test_what_vllm_refuses_is_found_without_a_server(target: VllmTarget, tmp_path: Path) -> None:
    tree = worktree(target, tmp_path / "long", max_model_len=1_000_000)
    with (
        pytest.raises(ServerFailedError) as caught,
        target.serve_for_screening(tree, tmp_path / "log"),
    ):
        pass
    assert caught.value.phase == "start"
    assert caught.value.exit_code == 1
    assert any("max_model_len" in line for line in caught.value.log_tail)


def test_a_server_proves_what_it_does_and_nothing_of_what_it_leaves_out(
    target: VllmTarget, tmp_path: Path
) -> None:
    tree = worktree(
        target,
        tmp_path / "mixed",
        kv_cache_dtype="fp8",
        async_scheduling=True,
        attention_backend="FLASH_ATTN",
    )
    with target.serve(tree, tmp_path / "log") as server:
        target.warmup(server, seed=1)
        resolved = server.resolved_config()
    assert "log.cpu_kv_cache_fp8" in resolved
    assert not {"log.cpu_async_scheduling", "log.cpu_attention_backend"} & resolved.keys()
    assert resolved["args.enforce-eager"] is True


def test_a_campaign_finds_what_helps_and_refuses_what_only_seems_to(tmp_path: Path) -> None:
    campaign: dict[str, Any] = yaml.safe_load(CAMPAIGN.read_text(encoding="utf-8"))
    campaign["target_config"]["actions"] = [
        "compiled",
        "cpu_kv_cache_int8",
        "cpu_attention_backend",
    ]
    # an upper bound: it ends when nothing is left to try
    campaign["budget"]["wall"] = "20m"
    file = tmp_path / "vllm.yaml"
    file.write_text(yaml.safe_dump(campaign))
    directory = tmp_path / "campaign"
    done = subprocess.run(
        [sys.executable, "-m", "arbor", "run", file, "--dir", directory],
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=_LIMIT_S,
    )
    assert done.returncode == 0, done
    require_sound(directory)
    tree = open_campaign(directory).state().tree
    for name in ("compiled", "checkpoint_int8"):
        assert _last(tree, name).status is Status.KEPT, _last(tree, name)
    garbage = _last(tree, "cpu_kv_cache_int8")
    assert garbage.status is Status.REVERTED
    assert garbage.accuracy is not None
    assert garbage.accuracy.kl_mean > campaign.get("gate", {}).get("max_kl_mean", 0.01)
    no_op = _last(tree, "cpu_attention_backend")
    assert (no_op.status, no_op.has_witness) == (Status.REVERTED, False)


def _last(tree: Tree, template_id: str) -> Node:
    """Return the newest node of an action."""
    return [node for node in tree.nodes.values() if node.template_id == template_id][-1]
