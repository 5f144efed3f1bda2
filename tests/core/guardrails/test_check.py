"""All rules together: clean evidence is silent, and missing evidence is never held against it."""

import re
from dataclasses import replace
from pathlib import Path

from arbor.core.guardrails import GUARDRAILS, Finding, check
from tests.fakes.evidence import bare_evidence, evidence_of, full_window, pair_of

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "design" / "guardrails.md"
ALWAYS_JUDGED = {
    "failed_requests",
    "equal_work",
    "single_token_outputs",
    "peak_as_mean",
    "limit_not_reached",
    "witness",
}
"""Rules that need no more than what every target measures."""


def test_names_are_unique() -> None:
    names = [rule.name for rule in GUARDRAILS]
    assert len(set(names)) == len(names)


def test_full_and_clean_evidence_is_silent() -> None:
    pairs = [pair_of(number=number) for number in range(1, 7)]
    checked = check(evidence_of(*pairs))
    assert checked.findings == ()
    assert checked.unobserved == ()


def test_what_was_not_measured_is_told_and_never_found() -> None:
    checked = check(bare_evidence())
    assert checked.findings == ()
    unobserved = {each.rule for each in checked.unobserved}
    assert unobserved == {rule.name for rule in GUARDRAILS} - ALWAYS_JUDGED
    assert all(each.missing for each in checked.unobserved)


def test_pairs_that_do_not_count_are_not_looked_at() -> None:
    foul = full_window(120.0, num_failed=3, foreign_cpu_ratio=0.9, num_preemptions=5, seed=3)
    pairs = [pair_of(number=number) for number in range(1, 7)]
    checked = check(evidence_of(*pairs, pair_of(foul, number=7, is_valid=False)))
    assert checked.findings == ()


def test_several_faults_are_all_reported_in_order() -> None:
    foul = full_window(160.0, num_rejected=0, seed=3, foreign_cpu_ratio=0.5, num_preemptions=1)
    checked = check(evidence_of(pair_of(foul), has_witness=False))
    assert [finding.rule for finding in checked.findings] == [
        "equal_work",
        "foreign_load",
        "preemption",
        "witness",
    ]
    assert all("\n" not in finding.evidence for finding in checked.findings)


def test_a_finding_quotes_what_was_seen_and_where() -> None:
    second = pair_of(full_window(120.0, num_preemptions=2), number=2)
    checked = check(evidence_of(pair_of(), second))
    assert checked.findings == (
        Finding("preemption", "suspect", "pair 2, candidate: 2 sequences were preempted"),
    )


def test_a_final_claim_is_about_no_single_action() -> None:
    checked = check(replace(evidence_of(ratio=3.0, share=0.1), template=None))
    assert {"amdahl_bound", "stated_speedup"} <= {each.rule for each in checked.unobserved}
    assert checked.findings == ()


def test_the_page_lists_every_rule_with_its_number_and_severity() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+|-) \| (\w+) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert rows == [(rule.name, str(rule.anomaly or "-"), rule.severity) for rule in GUARDRAILS]
