"""Every rule speaks about what it is for, and is silent about the clean twin."""

import math

import pytest

from arbor.core.guardrails import GUARDRAILS, Evidence, Finding, check
from arbor.core.measure.interval import Series, series_effect
from arbor.events.evidence import BenchmarkMeasured, PairMeasured
from arbor.events.settings import MeasureSettings
from arbor.events.types import WindowSample
from tests.fakes.stage import profile, template, window


def _pair(
    candidate: WindowSample | None = None,
    incumbent: WindowSample | None = None,
    *,
    is_valid: bool = True,
) -> PairMeasured:
    return PairMeasured(
        request_id="r1",
        node_id="n1",
        commit="c",
        pair=1,
        start=1,
        is_candidate_first=True,
        candidate=candidate or window(120.0),
        incumbent=incumbent or window(100.0),
        log_ratio=0.18,
        is_valid=is_valid,
    )


def _evidence(
    *pairs: PairMeasured, ratio: float = 1.2, share: float = 0.5, has_witness: bool = True
) -> Evidence:
    values = [math.log(ratio)] * 3
    result = BenchmarkMeasured(
        request_id="r1",
        node_id="n1",
        commit="c",
        purpose="benchmark",
        incumbent_commit="b",
        effect=series_effect(Series.of(values), 0.05, start_sd=0.0),
        stop="gain",
        has_witness=has_witness,
        witness_detail="fused.used did not grow",
        mean_throughput_tok_s=120.0,
    )
    return Evidence(
        pairs or (_pair(),),
        result,
        MeasureSettings(),
        template("fused"),
        profile(attention=share, linear=1.0 - share),
    )


DIRTY = {
    "failed_requests": [
        _evidence(_pair(window(120.0, num_failed=1))),
        _evidence(_pair(), _pair(incumbent=window(100.0, num_failed=3))),
    ],
    "equal_work": [
        _evidence(_pair(window(120.0, seed=2))),
        _evidence(_pair(window(120.0, num_completed=7))),
        _evidence(_pair(window(120.0, num_input_tokens=79))),
        _evidence(_pair(), _pair(window(120.0, num_output_tokens=90))),
    ],
    "foreign_load": [
        _evidence(_pair(window(120.0, foreign_cpu_ratio=0.3))),
        _evidence(_pair(incumbent=window(100.0, foreign_cpu_ratio=0.26))),
    ],
    "amdahl_bound": [_evidence(ratio=1.6, share=0.2), _evidence(ratio=1.3, share=0.0)],
    "witness": [_evidence(has_witness=False)],
}
CLEAN = {
    "failed_requests": [_evidence(_pair(window(120.0, num_failed=1), is_valid=False))],
    "equal_work": [
        _evidence(_pair(window(120.0, duration_s=0.5))),
        _evidence(_pair(window(120.0, seed=2), is_valid=False)),
    ],
    "foreign_load": [
        _evidence(_pair(window(120.0, foreign_cpu_ratio=0.25))),
        _evidence(_pair(window(120.0, foreign_cpu_ratio=0.9), is_valid=False)),
    ],
    "amdahl_bound": [
        _evidence(ratio=1.4, share=0.2),
        _evidence(ratio=50.0, share=0.99),
        _evidence(ratio=1.9, share=0.5),
    ],
    "witness": [_evidence()],
}
SEVERITIES = {
    "failed_requests": "invalid",
    "equal_work": "invalid",
    "foreign_load": "suspect",
    "amdahl_bound": "suspect",
    "witness": "invalid",
}


def _cases(table: dict[str, list[Evidence]]) -> list[tuple[str, Evidence]]:
    return [(name, evidence) for name, each in table.items() for evidence in each]


def test_every_rule_has_a_case() -> None:
    assert [rule.name for rule in GUARDRAILS] == list(DIRTY) == list(CLEAN)


@pytest.mark.parametrize(("name", "evidence"), _cases(DIRTY))
def test_speaks(name: str, evidence: Evidence) -> None:
    (finding,) = check(evidence)
    assert (finding.rule, finding.severity) == (name, SEVERITIES[name])
    assert finding.evidence
    assert "\n" not in finding.evidence


@pytest.mark.parametrize(("name", "evidence"), _cases(CLEAN))
def test_is_silent(name: str, evidence: Evidence) -> None:
    assert name not in {finding.rule for finding in check(evidence)}


def test_the_bound_needs_a_template_and_a_profile() -> None:
    clean = _evidence(ratio=1.6, share=0.2)
    without = Evidence(clean.pairs, clean.result, clean.settings, None, None)
    assert check(without) == ()


def test_several_faults_are_all_reported_in_order() -> None:
    evidence = _evidence(
        _pair(window(160.0, num_failed=1, seed=3)), ratio=1.6, share=0.2, has_witness=False
    )
    assert [finding.rule for finding in check(evidence)] == [
        "failed_requests",
        "equal_work",
        "amdahl_bound",
        "witness",
    ]


def test_a_finding_quotes_what_was_seen() -> None:
    (finding,) = check(_evidence(_pair(window(120.0, foreign_cpu_ratio=0.5))))
    assert finding == Finding("foreign_load", "suspect", "50% of the cores, limit 25%")
