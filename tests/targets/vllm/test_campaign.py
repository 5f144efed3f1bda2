"""A whole campaign over the fake vLLM: what helps is found, and mishaps do not end it."""

from typing import TypeVar

import pytest

from arbor.actors.founding import found
from arbor.actors.local import LocalCampaign
from arbor.actors.place import Place
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.clock import SystemClock
from arbor.events.base import Event
from arbor.events.blobs import BlobStore
from arbor.events.campaign import CampaignEnded
from arbor.events.choice import ActionProposed
from arbor.events.evidence import BenchmarkMeasured, ProfileTaken
from arbor.events.judgement import MeasurementFlagged
from arbor.events.memory import MemoryLog
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.settings import MeasureSettings, SearchSettings
from arbor.targets.vllm.target import VllmTarget
from arbor.targets.workspace import Workspace
from tests.contracts.target import HARDWARE
from tests.fakes.processes import all_gone, wait_until
from tests.targets.vllm.conftest import MakeConfig
from tests.targets.vllm.test_bad_input import engines

E = TypeVar("E", bound=Event)

# what breaks which action
FAULTS = (
    "die_at_start@use_inductor_graph_partition,"
    "die_after:20@VLLM_USE_FASTOKENS,"
    "garbage@VLLM_USE_RUST_FRONTEND,"
    "fail_streams:3@VLLM_CPU_ATTN_SPLIT_KV"
)
ACTIONS = (
    "compiled",
    "inductor_partition",
    "fast_tokeniser",
    "rust_frontend",
    "cpu_split_attention_off",
)
CAMPAIGN = Campaign(
    target="vllm",
    budget=CampaignBudget(wall=400.0),
    search=SearchSettings(max_attempts=1, max_revivals=0),
    measure=MeasureSettings(
        window_s=0.15,
        noise_pairs=2,
        max_pairs=6,
        max_starts=1,
        final_starts=1,
        final_pairs=2,
        final_width_ratio=0.5,
        soak_s=0.2,
        # other tests run beside this one
        max_foreign_cpu_ratio=1.0,
        max_foreign_cpu_difference=1.0,
    ),
)


@pytest.fixture(scope="module")
def log(make_config: MakeConfig, tmp_path_factory: pytest.TempPathFactory) -> MemoryLog:
    """The log of the campaign, which no process of a server outlived."""
    directory = tmp_path_factory.mktemp("campaign")
    config = make_config(
        args={"enable-prefix-caching": True},
        env={"FAKE_VLLM": FAULTS},
        actions=ACTIONS,
        cost_ratio=0.01,
    )
    clock = SystemClock()
    log = MemoryLog("c", clock.now)
    workspace = Workspace(directory / "workspace")
    place = Place(VllmTarget(config), workspace, BlobStore(directory / "blobs"), directory)
    (directory / "worktrees").mkdir()
    found(place, log, CAMPAIGN, HARDWARE, clock)
    LocalCampaign(place, log, clock).run()
    pids = [pid for path in (directory / "logs").glob("*.log") for pid in engines(path)]
    assert len(pids) > 10
    wait_until(lambda: all_gone(pids), 30.0)
    return log


def _of_kind(log: MemoryLog, kind: type[E]) -> list[E]:
    return [r.event for r in log.read() if isinstance(r.event, kind)]


def _about(log: MemoryLog, kind: type[E], name: str) -> list[E]:
    """Return the events of a kind about the action of a template."""
    actions = {e.action_id for e in _of_kind(log, ActionProposed) if e.template_id == name}
    return [event for event in _of_kind(log, kind) if event.action_id in actions]


def test_what_helps_is_kept_with_its_proof(log: MemoryLog) -> None:
    assert len(_about(log, ActionKept, "compiled")) == len(_of_kind(log, ActionKept)) == 1
    [kept] = [e for e in _about(log, BenchmarkMeasured, "compiled") if e.effect.low > 1]
    assert kept.has_witness
    resolved = {edit.key: edit.value for edit in kept.resolved_config}
    assert resolved["args.enforce-eager"] is False
    assert resolved["vllm.version"] == "0.32.0+fake"
    claim = [e for e in _of_kind(log, BenchmarkMeasured) if e.purpose == "revalidation"][-1]
    assert claim.effect.low > 1.1


def test_crashes_are_told_with_their_evidence(log: MemoryLog) -> None:
    assert not _about(log, Crashed, "compiled")
    [start] = _about(log, Crashed, "inductor_partition")
    assert (start.phase, start.exit_code) == ("start", 1)
    assert "out of memory" in start.log_tail[-1]
    [middle] = _about(log, Crashed, "fast_tokeniser")
    assert middle.signal == 9
    assert middle.log_digest
    [garbage] = _about(log, Crashed, "rust_frontend")
    assert "requests failed" in garbage.message


def test_failed_requests_are_no_gain(log: MemoryLog) -> None:
    name = "cpu_split_attention_off"
    assert len(_about(log, ActionReverted, name)) == 1
    flags = _about(log, MeasurementFlagged, name)
    assert "failed_requests" in {flag.rule for flag in flags if flag.severity == "invalid"}


def test_the_campaign_went_on_to_its_end(log: MemoryLog) -> None:
    profile = _of_kind(log, ProfileTaken)[0].profile
    assert profile.share_of("gemm") == pytest.approx(0.55, abs=0.05)
    [end] = _of_kind(log, CampaignEnded)
    assert end.node_id
