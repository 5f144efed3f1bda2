"""Guardrails: rules that a benchmark's raw pairs must obey; one small class each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from arbor.events.evidence import BenchmarkMeasured, PairMeasured
from arbor.events.settings import MeasureSettings
from arbor.events.types import ActionTemplate, Profile

Severity = Literal["invalid", "suspect", "note"]

AMDAHL_TOLERANCE_RATIO = 1.15
"""Shares come from a profiler and are rough; a gain may exceed the bound by this much."""
ENOUGH_SHARE_RATIO = 0.98
"""Above this share the bound says nothing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that guardrails may look at."""

    pairs: Sequence[PairMeasured]
    result: BenchmarkMeasured
    settings: MeasureSettings
    template: ActionTemplate | None
    profile: Profile | None
    """Profile of the incumbent."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a guardrail saw."""

    rule: str
    severity: Severity
    evidence: str


class Guardrail(Protocol):
    """One rule of facts on how benchmarks mislead."""

    name: str
    severity: Severity

    def violation(self, evidence: Evidence) -> str | None:
        """Return one line of evidence when the rule is broken, None when it holds."""
        ...


class NoFailedRequests:
    """Failed requests count as fast ones in many tools: none may fail."""

    name = "failed_requests"
    severity: Severity = "invalid"

    def violation(self, evidence: Evidence) -> str | None:
        """Return the first valid pair with a failed request."""
        for pair in evidence.pairs:
            if pair.is_valid and (pair.candidate.num_failed or pair.incumbent.num_failed):
                return (
                    f"pair {pair.pair}: {pair.candidate.num_failed} candidate and "
                    f"{pair.incumbent.num_failed} incumbent requests failed"
                )
        return None


class EqualWork:
    """Both arms of a pair must have done the same work."""

    name = "equal_work"
    severity: Severity = "invalid"

    def violation(self, evidence: Evidence) -> str | None:
        """Return the first valid pair whose arms differ in seed, requests or tokens."""
        for pair in evidence.pairs:
            a, b = pair.candidate, pair.incumbent
            work_a = (a.seed, a.num_completed, a.num_input_tokens, a.num_output_tokens)
            work_b = (b.seed, b.num_completed, b.num_input_tokens, b.num_output_tokens)
            if pair.is_valid and work_a != work_b:
                return f"pair {pair.pair}: (seed, requests, input, output) {work_a} != {work_b}"
        return None


class QuietMachine:
    """Other processes must not have taken much processor time."""

    name = "foreign_load"
    severity: Severity = "suspect"

    def violation(self, evidence: Evidence) -> str | None:
        """Return the worst valid pair above the allowed foreign processor share."""
        worst = max(
            (
                max(p.candidate.foreign_cpu_ratio or 0.0, p.incumbent.foreign_cpu_ratio or 0.0)
                for p in evidence.pairs
                if p.is_valid
            ),
            default=0.0,
        )
        limit = evidence.settings.max_foreign_cpu_ratio
        return f"{worst:.0%} of the cores, limit {limit:.0%}" if worst > limit else None


class AmdahlBound:
    """A gain beyond 1 / (1 - p) of the touched share p is an anomaly, not a win."""

    name = "amdahl_bound"
    severity: Severity = "suspect"

    def violation(self, evidence: Evidence) -> str | None:
        """Return the gain and its bound when the whole interval lies beyond it."""
        if evidence.template is None or evidence.profile is None:
            return None
        share = evidence.profile.share_of(evidence.template.category)
        if share >= ENOUGH_SHARE_RATIO:
            return None
        bound = AMDAHL_TOLERANCE_RATIO / (1.0 - share)
        if evidence.result.effect.low <= bound:
            return None
        return (
            f"at least {evidence.result.effect.low:.2f}x from {evidence.template.category} with "
            f"{share:.0%} of the time; bound {bound:.2f}x"
        )


class HasWitness:
    """An action must prove that it took effect."""

    name = "witness"
    severity: Severity = "invalid"

    def violation(self, evidence: Evidence) -> str | None:
        """Return what is missing."""
        return None if evidence.result.has_witness else evidence.result.witness_detail


GUARDRAILS: tuple[Guardrail, ...] = (
    NoFailedRequests(),
    EqualWork(),
    QuietMachine(),
    AmdahlBound(),
    HasWitness(),
)
"""All rules; a new one is a class and a line here."""


def check(evidence: Evidence) -> tuple[Finding, ...]:
    """Return what the guardrails found, in the order of ``GUARDRAILS``."""
    findings = []
    for rule in GUARDRAILS:
        violation = rule.violation(evidence)
        if violation is not None:
            findings.append(Finding(rule.name, rule.severity, violation))
    return tuple(findings)
