"""A whole campaign over a described server: what helps is found, and mishaps do not end it."""

from typing import Any, TypeVar

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
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.judgement import MeasurementFlagged
from arbor.events.memory import MemoryLog
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.settings import GateSettings, MeasureSettings, SearchSettings
from arbor.targets.workspace import Workspace
from tests.contracts.target import HARDWARE
from tests.targets.command.small import SMALL, small_target

E = TypeVar("E", bound=Event)

CAMPAIGN = Campaign(
    target="command",
    budget=CampaignBudget(wall=300.0),
    search=SearchSettings(max_attempts=1, max_revivals=0),
    # the check is small here
    gate=GateSettings(min_top1_agreement_ratio=0.85),
    measure=MeasureSettings(
        window_s=0.15,
        noise_pairs=3,
        max_pairs=10,
        max_starts=1,
        final_starts=1,
        final_pairs=4,
        final_width_ratio=0.5,
        soak_s=0.2,
        # other tests run beside this one
        max_foreign_cpu_ratio=1.0,
        max_foreign_cpu_difference=1.0,
    ),
)


def action(name: str, *, is_exact: bool = False, **knobs: Any) -> dict[str, Any]:
    own = {"fault": ["none"]} if "fault" not in knobs else {}
    return {
        "id": name,
        "set": knobs,
        "requires": own,
        "is_exact": is_exact,
        "cost_s": 5,
        "prior_speedup_ratio": 1.5,
    }


ACTIONS = [
    action("threads", threads=4, is_exact=True),
    action("eight_bits", bits=8),
    action("four_bits", bits=4),
    action("liar", deaf=True, turbo=True),
    *(action(name, fault=name) for name in ("exit", "die", "hang", "garbage", "fail")),
]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> MemoryLog:
    """The log of the campaign."""
    directory = tmp_path_factory.mktemp("campaign")
    target = small_target(
        # the liar does not tell of its threads, so nothing proves them
        actions=[
            a | {"search": {"threads": {"low": 2, "high": 3}}} if a["id"] == "liar" else a
            for a in ACTIONS
        ],
        accuracy={
            "kind": "logprobs",
            "num_prompts": 8,
            "num_positions": 8,
            "num_long": 2,
            "num_long_words": 80,
            "num_long_positions": 32,
        },
        benchmark=SMALL["benchmark"] | {"request_limit_s": 3, "limit_s": 20},
        request_limit_s=2,
    )
    clock = SystemClock()
    log = MemoryLog("c", clock.now)
    workspace = Workspace(directory / "workspace")
    place = Place(target, workspace, BlobStore(directory / "blobs"), directory)
    (directory / "worktrees").mkdir()
    found(place, log, CAMPAIGN, HARDWARE, clock)
    LocalCampaign(place, log, clock).run()
    return log


def _of_kind(log: MemoryLog, kind: type[E]) -> list[E]:
    return [r.event for r in log.read() if isinstance(r.event, kind)]


def _about(log: MemoryLog, kind: type[E], name: str) -> list[E]:
    """Return the events of a kind about the action of a template."""
    actions = {e.action_id for e in _of_kind(log, ActionProposed) if e.template_id == name}
    return [event for event in _of_kind(log, kind) if event.action_id in actions]


def test_what_helps_is_kept(log: MemoryLog) -> None:
    assert _about(log, ActionKept, "threads")
    [kept] = [e for e in _about(log, BenchmarkMeasured, "threads") if e.effect.low > 1]
    assert kept.has_witness
    claim = [e for e in _of_kind(log, BenchmarkMeasured) if e.purpose == "revalidation"][-1]
    assert claim.effect.low > 1.2


def test_what_damages_numbers_is_refused(log: MemoryLog) -> None:
    [reverted] = _about(log, ActionReverted, "four_bits")
    assert not _about(log, BenchmarkMeasured, "four_bits"), "accuracy comes first"
    assert "accuracy" in reverted.model_dump_json()
    assert not _about(log, ActionKept, "four_bits")


def test_what_does_nothing_or_proves_nothing_is_not_kept(log: MemoryLog) -> None:
    assert not _about(log, ActionKept, "eight_bits")
    assert not _about(log, ActionKept, "liar")


@pytest.mark.parametrize("name", ["exit", "die", "hang", "garbage"])
def test_mishaps_are_crashes_with_their_evidence(log: MemoryLog, name: str) -> None:
    [crash] = _about(log, Crashed, name)
    told = {
        "exit": (crash.exit_code == 1, "out of memory" in crash.log_tail[-1]),
        "die": (crash.exit_code == 9, True),
        "hang": ("was not answered within 2 s" in crash.message, True),
        "garbage": ("failed" in crash.message, True),
    }
    assert told[name] == (True, True)


def test_failed_requests_are_no_gain(log: MemoryLog) -> None:
    assert not _about(log, ActionKept, "fail")
    flags = _about(log, MeasurementFlagged, "fail")
    crashes = _about(log, Crashed, "fail")
    assert crashes or "failed_requests" in {flag.rule for flag in flags}


def test_the_campaign_went_on_to_its_end(log: MemoryLog) -> None:
    [end] = _of_kind(log, CampaignEnded)
    assert end.node_id
