"""Guardrails: rules that a benchmark's raw pairs must obey; one small class each."""

from dataclasses import dataclass

from arbor.core.guardrails.arithmetic import (
    LatencySum,
    LittlesLaw,
    MeanThroughput,
    OneTokenPerChunk,
)
from arbor.core.guardrails.base import Evidence, Guardrail, Severity
from arbor.core.guardrails.caches import (
    ColdPrefixCache,
    EqualCodeCaches,
    NoPreemption,
    NothingCompiled,
    WarmedUp,
)
from arbor.core.guardrails.effect import (
    HasWitness,
    LimitReached,
    NoDebugSwitches,
    QuietLog,
    SameCommit,
)
from arbor.core.guardrails.load import ClientKeepsUp, EqualClocks, QuietMachine, Saturated
from arbor.core.guardrails.plausibility import AmdahlBound, StatedSpeedup
from arbor.core.guardrails.series import MoreThanNoise, SteadyIncumbent, SteadyRatio
from arbor.core.guardrails.work import (
    EqualWork,
    FullOutputs,
    NoFailedRequests,
    NoLostRequests,
    SeveralTokens,
    TokensCounted,
    WholePrompts,
)

__all__ = ["GUARDRAILS", "Checked", "Evidence", "Finding", "Guardrail", "Unobserved", "check"]

GUARDRAILS: tuple[Guardrail, ...] = (
    NoFailedRequests(),
    NoLostRequests(),
    EqualWork(),
    FullOutputs(),
    SeveralTokens(),
    WholePrompts(),
    TokensCounted(),
    MeanThroughput(),
    QuietMachine(),
    ClientKeepsUp(),
    Saturated(),
    EqualClocks(),
    ColdPrefixCache(),
    NothingCompiled(),
    WarmedUp(),
    EqualCodeCaches(),
    NoPreemption(),
    NoDebugSwitches(),
    QuietLog(),
    OneTokenPerChunk(),
    LittlesLaw(),
    LatencySum(),
    MoreThanNoise(),
    SteadyRatio(),
    SteadyIncumbent(),
    AmdahlBound(),
    StatedSpeedup(),
    SameCommit(),
    LimitReached(),
    HasWitness(),
)
"""All rules in the order of their findings; a new one is a class and a line here."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a guardrail saw."""

    rule: str
    severity: Severity
    evidence: str


@dataclass(frozen=True, slots=True)
class Unobserved:
    """A guardrail that could not be judged."""

    rule: str
    missing: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What all guardrails said, each list in the order of ``GUARDRAILS``."""

    findings: tuple[Finding, ...]
    unobserved: tuple[Unobserved, ...]


def check(evidence: Evidence) -> Checked:
    """Return what the guardrails found, and which of them had nothing to judge by."""
    findings: list[Finding] = []
    unobserved: list[Unobserved] = []
    for rule in GUARDRAILS:
        verdict = rule.judge(evidence)
        if verdict.violation is not None:
            findings.append(Finding(rule.name, rule.severity, verdict.violation))
        elif verdict.missing is not None:
            unobserved.append(Unobserved(rule.name, verdict.missing))
    return Checked(tuple(findings), tuple(unobserved))
