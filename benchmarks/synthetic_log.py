"""A log of any length that looks like a very long campaign: cycles of propose, try, judge."""

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from arbor.core.layout import CampaignDirectory
from arbor.events.base import Draft, Event
from arbor.events.campaign import CampaignStarted
from arbor.events.choice import (
    ActionDispatched,
    ActionProposed,
    ActionScored,
    ActionWithdrawn,
)
from arbor.events.evidence import AccuracyMeasured, BenchmarkMeasured, PairMeasured, ProfileTaken
from arbor.events.ids import uuid7
from arbor.events.judgement import IntrospectionRecorded, MeasurementJudged, RootCauseFound
from arbor.events.life import LeaseReleased, LeaseTaken
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.parquet_log import ParquetLog
from arbor.events.requests import MeasurementRequested
from arbor.events.settings import Settings
from arbor.events.types import (
    AccuracySample,
    ActionTemplate,
    CategoryShare,
    Edit,
    Effect,
    Hardware,
    Layer,
    Profile,
    ReviveCondition,
    ScoreTerms,
    WindowSample,
)
from arbor.events.work import AttemptStarted, PatchProposed, SpecialistConstructed, TrialMeasured

CAMPAIGN_ID = "synthetic"
NUM_TEMPLATES = 40
NUM_SCORED = 20
"""Candidates that are scored again in every cycle: most events of a real campaign are scores."""
CYCLES_A_PATH = 72
"""Cycles, every sixth with a keep, until the path begins at the root again: no real path is
thousands of nodes deep."""
_BATCH = 5_000
_START = datetime(2026, 1, 1, tzinfo=UTC)

Said = tuple[str, Event]
"""An actor, and what it appended."""


class Cycles:
    """Says what the actors of an endless campaign say.

    Args:
        seed: equal seeds give equal logs, but for the ids of events.
    """

    def __init__(self, seed: int = 0) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - noise, not a secret
        self._number = 0
        self._parent = "n000"
        self._commit = "0" * 40
        self._templates = [_template(number) for number in range(NUM_TEMPLATES)]

    def __iter__(self) -> Iterator[Said]:
        """Yield the events of a campaign without an end."""
        yield "supervisor", self._started()
        while True:
            self._number += 1
            yield from self._cycle(self._number)

    def _started(self) -> CampaignStarted:
        return CampaignStarted(
            name="synthetic",
            target="landscape",
            target_config="{}",
            settings=Settings(),
            actions=tuple(self._templates),
            hardware=Hardware(
                host="h", kind="amd", device_name="x", num_cores=2, memory_bytes=1, num_devices=8
            ),
            root_commit=self._commit,
            root_config="{}",
            arbor_version="0",
        )

    def _cycle(self, number: int) -> Iterator[Said]:
        template = self._templates[number % NUM_TEMPLATES]
        action, node = f"a{number}", f"n{number}"
        if number % CYCLES_A_PATH == 0:
            self._parent, self._commit = "n000", "0" * 40
        yield (
            "orchestrator",
            ActionProposed(
                action_id=action,
                template_id=template.template_id,
                node_id=self._parent,
                reason="not tried yet",
            ),
        )
        for back in range(min(number, NUM_SCORED)):
            yield "orchestrator", self._scored(f"a{number - back}", number)
        if number % 10 == 9:
            yield "orchestrator", ActionWithdrawn(action_id=action, reason="already in force")
            return
        yield (
            "orchestrator",
            ActionDispatched(
                action_id=action,
                node_id=node,
                parent_id=self._parent,
                parent_commit=self._commit,
                template_id=template.template_id,
                specialist="config",
                edits=template.edits,
                brief=f"Task: {template.title}.\nWhy now: not tried yet.\nHistory: none.",
            ),
        )
        yield from self._work(number, action, node, template)

    def _scored(self, action: str, number: int) -> ActionScored:
        terms = ScoreTerms(
            share_ratio=round(self._chance.random(), 4),
            speedup_ratio=round(1.0 + self._chance.random(), 4),
            cost_ratio=1.0,
            accuracy_risk_ratio=0.02,
            crash_risk_ratio=0.05,
            gap_ratio=0.8,
            num_tries=number,
            num_category_tries=number // 5,
            exploration=0.05,
        )
        return ActionScored(
            action_id=action,
            node_id=self._parent,
            form="risk_averse",
            score=terms.share_ratio / 2,
            terms=terms,
        )

    def _work(
        self, number: int, action: str, node: str, template: ActionTemplate
    ) -> Iterator[Said]:
        actor, attempt, lease = f"specialist-{node}", f"{node}.1", f"l{number}"
        commit = f"{number:040x}"
        own = {"action_id": action, "attempt_id": attempt}
        yield (
            actor,
            SpecialistConstructed(
                **own, specialist_id=actor, layer=template.layer, skills=("config",), placement="h"
            ),
        )
        yield actor, AttemptStarted(**own, attempt=1)
        yield actor, LeaseTaken(lease_id=lease, host="h", is_exclusive=False, purpose="screening")
        trial = TrialMeasured(
            **own, trial=1, edits=template.edits, throughput_tok_s=100.0, engine="config"
        )
        yield actor, trial
        yield actor, LeaseReleased(lease_id=lease, host="h")
        if number % 11 == 3:
            yield from self._crash(own, actor, node)
            return
        yield (
            actor,
            PatchProposed(
                **own,
                node_id=node,
                base_commit=self._commit,
                commit=commit,
                edits=template.edits,
                diff_digest=f"{number:064x}",
                validation="served",
            ),
        )
        yield from self._judge(number, action, node, commit, template)

    def _crash(self, own: dict[str, str], actor: str, node: str) -> Iterator[Said]:
        yield (
            actor,
            Crashed(
                **own,
                phase="screening",
                message="the server ended with exit code 1",
                exit_code=1,
                log_tail=("Traceback", "ValueError: FP8 is not supported on this model"),
                node_id=node,
            ),
        )
        yield (
            "critic",
            RootCauseFound(
                **own,
                cause="incompatible_settings",
                cause_group="bad_flag",
                blames_idea=True,
                evidence=("ValueError: FP8 is not supported on this model",),
                confidence_ratio=0.9,
                remedy="do not ask this of this model",
                fault="idea",
            ),
        )

    def _judge(
        self, number: int, action: str, node: str, commit: str, template: ActionTemplate
    ) -> Iterator[Said]:
        accuracy, benchmark = f"r{2 * number}", f"r{2 * number + 1}"
        yield "orchestrator", self._asked(action, node, accuracy, "accuracy", template)
        yield "bench", _begun(action, accuracy)
        own = _evidence(action, node, accuracy, commit)
        yield "bench", AccuracyMeasured.model_validate(own | {"sample": _ACCURACY})
        yield "critic", _judged(action, accuracy, "accuracy", is_accepted=True)
        yield "orchestrator", self._asked(action, node, benchmark, "benchmark", template)
        yield "bench", _begun(action, benchmark)
        own = _evidence(action, node, benchmark, commit)
        is_kept = number % 6 == 0
        ratio = 1.1 if is_kept else 0.99
        for pair in range(1, 4):
            yield "bench", self._pair(own, pair, ratio)
        effect = _effect(ratio)
        result = {
            "purpose": "benchmark",
            "incumbent_commit": self._commit,
            "effect": effect,
            "stop": "gain" if is_kept else "no_gain",
            "has_witness": True,
            "witness_detail": "seen",
            "mean_throughput_tok_s": 100.0 * ratio,
        }
        yield "bench", BenchmarkMeasured.model_validate(own | result)
        yield "critic", _judged(action, benchmark, "benchmark", is_accepted=is_kept)
        if is_kept:
            yield from self._kept(own, template.edits, effect)
            return
        yield (
            "orchestrator",
            ActionReverted(action_id=action, node_id=node, reason="benchmark: 0.990x"),
        )
        yield (
            "critic",
            IntrospectionRecorded(
                action_id=action,
                template_id=template.template_id,
                revive=ReviveCondition(category=template.category, share_above_ratio=0.5),
                reasoning="took 40% of the time; worth another try above 50%",
            ),
        )

    def _asked(
        self, action: str, node: str, request: str, purpose: str, template: ActionTemplate
    ) -> MeasurementRequested:
        return MeasurementRequested.model_validate(
            {
                "action_id": action,
                "request_id": request,
                "purpose": purpose,
                "node_id": node,
                "parent_commit": self._commit,
                "edits": template.edits,
                "incumbent_commit": self._commit,
                "seed": 1,
            }
        )

    def _pair(self, own: dict[str, object], pair: int, ratio: float) -> PairMeasured:
        noise = self._chance.gauss(0.0, 0.01)
        windows = [_window(100.0 * factor) for factor in (ratio * math.exp(noise), 1.0)]
        fields = {
            "pair": pair,
            "start": 1,
            "is_candidate_first": pair % 2 == 1,
            "candidate": windows[0],
            "incumbent": windows[1],
            "log_ratio": math.log(ratio) + noise,
        }
        return PairMeasured.model_validate(own | fields)

    def _kept(
        self, own: dict[str, object], edits: tuple[Edit, ...], effect: Effect
    ) -> Iterator[Said]:
        named = {name: own[name] for name in ("action_id", "node_id", "commit")}
        keep = {"parent_id": self._parent, "edits": edits, "effect": effect}
        yield "orchestrator", ActionKept.model_validate(named | keep)
        self._parent, self._commit = str(own["node_id"]), str(own["commit"])
        profile = Profile(
            shares=(CategoryShare(category="attention", share_ratio=0.5),),
            window_s=1.0,
            source="synthetic",
        )
        yield "bench", ProfileTaken.model_validate(own | {"profile": profile})


def _template(number: int) -> ActionTemplate:
    return ActionTemplate(
        template_id=f"switch_{number:03d}",
        layer=list(Layer)[number % len(Layer)],
        category=f"category_{number % 5}",
        title=f"Turn on switch {number}",
        edits=(Edit(key=f"s.switch_{number:03d}", value=True),),
    )


def _evidence(action: str, node: str, request: str, commit: str) -> dict[str, object]:
    return {
        "action_id": action,
        "attempt_id": f"{request}.1",
        "request_id": request,
        "node_id": node,
        "commit": commit,
    }


def _begun(action: str, request: str) -> AttemptStarted:
    return AttemptStarted(
        action_id=action, attempt_id=f"{request}.1", attempt=1, request_id=request
    )


def _judged(action: str, request: str, purpose: str, *, is_accepted: bool) -> MeasurementJudged:
    return MeasurementJudged.model_validate(
        {
            "action_id": action,
            "request_id": request,
            "purpose": purpose,
            "is_accepted": is_accepted,
            "reason": "1.100x [1.050, 1.150] over 3 pairs",
        }
    )


def _effect(ratio: float) -> Effect:
    return Effect(
        ratio=ratio,
        low=ratio * 0.95,
        high=ratio * 1.05,
        alpha=0.05,
        num_pairs=3,
        sd_log_ratio=0.01,
        num_starts_per_arm=1,
    )


def _window(throughput_tok_s: float) -> WindowSample:
    return WindowSample(
        num_completed=8,
        num_failed=0,
        num_input_tokens=80,
        num_output_tokens=100,
        duration_s=100.0 / throughput_tok_s,
        throughput_tok_s=throughput_tok_s,
        tpot_ms_p50=1000.0 / throughput_tok_s,
        foreign_cpu_ratio=0.05,
        server_cpu_s=1.0,
    )


_ACCURACY = AccuracySample(
    num_tokens=512,
    kl_mean=1e-6,
    kl_mean_high=2e-6,
    top1_agreement_ratio=1.0,
    nll_delta=0.0,
    max_logprob_delta=1e-3,
)


def write_log(directory: Path, num_events: int, *, seed: int = 0) -> Path:
    """Write a campaign of ``num_events`` events, sealed into segments; return its directory.

    Events come a second apart; the last cycle may be cut anywhere, as by a kill.
    """
    now = [_START]
    log = ParquetLog.open(
        CampaignDirectory(directory).log,
        CAMPAIGN_ID,
        clock=lambda: now[0],
        compact_after=1 << 30,
        grace_s=0.0,
    )
    said = islice(iter(Cycles(seed)), num_events)
    while batch := list(islice(said, _BATCH)):
        now[0] += timedelta(seconds=len(batch))
        log.append([Draft(event, uuid7(now[0]), actor) for actor, event in batch])
    log.compact()
    log.close()
    return directory
