"""Rules on load; constructed windows, each with a clean twin.

``throttling`` has no recorded case: virtual machines hide the counters of their processors.
"""

import pytest

from arbor.core.guardrails.base import Verdict
from arbor.core.guardrails.load import ClientKeepsUp, EqualClocks, QuietMachine, Saturated
from tests.fakes.evidence import bare_evidence, evidence_of, full_window, pair_of
from tests.fakes.stage import window


def _expect(verdict: Verdict, line: str | None) -> None:
    assert verdict.missing is None
    assert (verdict.violation is None) == (line is None)
    assert line is None or line in str(verdict.violation)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"client_cpu_s": 3.9, "server_cpu_s": 2.0}, "client used 98%"),
        # both are busy: the server is what is measured
        ({"client_cpu_s": 3.9, "server_cpu_s": 3.9}, None),
        ({"client_cpu_s": 2.0, "server_cpu_s": 1.0}, None),
        ({"server_e2e_ms_mean": 600.0}, "800 ms at the client, 600 ms"),
        ({"server_e2e_ms_mean": 750.0}, None),
        # below 20 ms the server's own way to the wire may be meant
        ({"e2e_ms_mean": 30.0, "server_e2e_ms_mean": 15.0}, None),
        ({"client_cpu_s": None, "server_e2e_ms_mean": 600.0}, "at the client"),
    ],
)
def test_a_client_at_its_limit(fields: dict[str, object], line: str | None) -> None:
    _expect(ClientKeepsUp().of_window(full_window(100.0, **fields)), line)


def test_a_client_is_bound_when_it_is_in_most_windows() -> None:
    late = full_window(120.0, server_e2e_ms_mean=300.0)
    once = evidence_of(pair_of(late), pair_of(number=2))
    _expect(ClientKeepsUp().judge(once), None)
    twice = evidence_of(pair_of(late), pair_of(late, number=2), pair_of(number=3))
    _expect(ClientKeepsUp().judge(twice), "candidate: 2 of 3 windows, first requests took 667 ms")
    assert ClientKeepsUp().judge(bare_evidence()).missing


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"num_concurrent_max": 3}, "at most 3 of 4"),
        ({"e2e_ms_mean": 500.0}, "2.5 of 4 requests were open on average"),
        # too short a run to leave out its ramp
        ({"e2e_ms_mean": 500.0, "num_completed": 19}, None),
        ({}, None),
    ],
)
def test_the_load_is_the_planned_one(fields: dict[str, object], line: str | None) -> None:
    _expect(Saturated().of_window(full_window(100.0, **fields)), line)


@pytest.mark.parametrize("rule", [ClientKeepsUp(), Saturated()])
def test_a_plain_window_is_not_judged(rule: ClientKeepsUp | Saturated) -> None:
    assert rule.of_window(window(100.0)).missing


def test_the_worst_foreign_load_is_told() -> None:
    calm, loaded, worst = (full_window(foreign_cpu_ratio=ratio) for ratio in (0.25, 0.3, 0.6))
    assert QuietMachine().judge(evidence_of(pair_of(incumbent=calm))).violation is None
    found = QuietMachine().judge(evidence_of(pair_of(incumbent=loaded), pair_of(worst)))
    assert found.violation == "60% of the cores, limit 25%"
    assert QuietMachine().judge(bare_evidence()).missing


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"num_throttlings": 3}, "lowered 3 and 0 times"),
        ({"clock_mhz_mean": 1900.0}, "1900 and 2000 MHz"),
        ({"clock_mhz_mean": 1980.0}, None),
        ({"clock_mhz_mean": None, "num_throttlings": 1}, "lowered 1 and 0 times"),
        ({"clock_mhz_mean": None}, None),
    ],
)
def test_clocks_of_both_arms(fields: dict[str, object], line: str | None) -> None:
    verdict = EqualClocks().of_pair(full_window(120.0, **fields), full_window())
    assert verdict.missing is None
    assert (verdict.violation is None) == (line is None)
    assert line is None or line in str(verdict.violation)


def test_throttling_of_both_arms_is_the_machine() -> None:
    hot = full_window(num_throttlings=4)
    assert EqualClocks().of_pair(hot, full_window(num_throttlings=9)).violation is None
    assert EqualClocks().of_pair(window(1.0), window(1.0)).missing
