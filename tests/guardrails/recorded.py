"""Recorded guardrail cases: what a file of ``cases`` holds, and the evidence it makes."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from arbor.core.guardrails import Evidence
from arbor.core.measure.interval import Series, series_effect
from arbor.events.evidence import BenchmarkMeasured, PairMeasured
from arbor.events.settings import MeasureSettings
from arbor.events.types import Edit, Scalar, WindowSample

CASES = Path(__file__).with_name("cases")

Pair = tuple[WindowSample, WindowSample]


@dataclass(frozen=True)
class Recording:
    """One side of a case: pairs of (candidate, incumbent), and what the result said of them."""

    pairs: Sequence[Pair]
    edits: tuple[Edit, ...] = ()
    incumbent_config: dict[str, Scalar] = field(default_factory=dict)
    witness_detail: str = ""
    """Why there is no witness; empty when there is one."""
    tolerated_foreign_cpu_ratio: float = MeasureSettings().max_foreign_cpu_ratio
    """Foreign load of the machine that the case was recorded on and is not about."""

    def document(self) -> dict[str, Any]:
        """Return what is stored; counters are left out, since no rule reads them."""
        return {
            "pairs": [
                [
                    window.model_dump(mode="json", exclude_defaults=True, exclude={"counters"})
                    for window in pair
                ]
                for pair in self.pairs
            ],
            "edits": [edit.model_dump(mode="json") for edit in self.edits],
            "incumbent_config": self.incumbent_config,
            "witness_detail": self.witness_detail,
            "tolerated_foreign_cpu_ratio": self.tolerated_foreign_cpu_ratio,
        }

    @classmethod
    def parse(cls, document: dict[str, Any]) -> "Recording":
        """Return what was stored."""
        pairs = [
            (WindowSample.model_validate(candidate), WindowSample.model_validate(incumbent))
            for candidate, incumbent in document["pairs"]
        ]
        edits = tuple(Edit.model_validate(edit) for edit in document["edits"])
        config, detail = document["incumbent_config"], document["witness_detail"]
        return cls(pairs, edits, config, detail, document["tolerated_foreign_cpu_ratio"])

    def evidence(self) -> Evidence:
        """Return what the Critic would see."""
        pairs = [_pair(number, *pair) for number, pair in enumerate(self.pairs, start=1)]
        result = BenchmarkMeasured(
            request_id="r1",
            node_id="n1",
            commit="candidate",
            purpose="benchmark",
            incumbent_commit="incumbent",
            effect=series_effect(
                Series.of([pair.log_ratio for pair in pairs]), 0.05, start_sd=0.0
            ),
            stop="planned",
            has_witness=not self.witness_detail,
            witness_detail=self.witness_detail,
            mean_throughput_tok_s=pairs[0].candidate.throughput_tok_s,
        )
        return Evidence(
            pairs=pairs,
            result=result,
            settings=MeasureSettings(max_foreign_cpu_ratio=self.tolerated_foreign_cpu_ratio),
            edits=self.edits,
            incumbent_config=self.incumbent_config,
        )


def _pair(number: int, candidate: WindowSample, incumbent: WindowSample) -> PairMeasured:
    return PairMeasured(
        request_id="r1",
        node_id="n1",
        commit="candidate",
        pair=number,
        start=1,
        is_candidate_first=True,
        candidate=candidate,
        incumbent=incumbent,
        log_ratio=math.log(candidate.throughput_tok_s / incumbent.throughput_tok_s),
    )


def tolerant(recording: Recording) -> Recording:
    """Return a recording that tolerates the foreign load that it saw."""
    seen = [window.foreign_cpu_ratio or 0.0 for pair in recording.pairs for window in pair]
    tolerated = max(recording.tolerated_foreign_cpu_ratio, math.ceil(100 * max(seen)) / 100)
    return replace(recording, tolerated_foreign_cpu_ratio=min(tolerated, 1.0))


def store(name: str, how: str, dirty: Recording, clean: Recording) -> Path:
    """Write a case and return its file."""
    case = {"how": how, "dirty": dirty.document(), "clean": clean.document()}
    path = CASES / f"{name}.json"
    path.write_text(json.dumps(case, separators=(",", ":")) + "\n", encoding="utf-8")
    return path


def load(name: str) -> tuple[Recording, Recording]:
    """Return the dirty side of a case and its clean twin."""
    case = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return Recording.parse(case["dirty"]), Recording.parse(case["clean"])
