"""What a guardrail is: it looks at evidence and says broken, holds, or not observed."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
)
from arbor.events.settings import MeasureSettings
from arbor.events.types import ActionTemplate, Edit, Profile, Scalar, WindowSample

Severity = Literal["invalid", "suspect", "note"]
"""``invalid`` forbids a keep, ``suspect`` asks for a repeat, ``note`` annotates."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that guardrails may look at."""

    pairs: Sequence[PairMeasured]
    result: BenchmarkMeasured
    settings: MeasureSettings
    template: ActionTemplate | None = None
    """None for a final claim, which is about many actions."""
    profile: Profile | None = None
    """Profile of the incumbent."""
    noise: NoiseCalibrated | None = None
    accuracy: AccuracyMeasured | None = None
    """Accuracy of the same node."""
    edits: Sequence[Edit] = ()
    """What the action changed."""
    incumbent_config: Mapping[str, Scalar] = field(default_factory=dict)

    def valid_pairs(self) -> list[PairMeasured]:
        """Return the pairs that count, in order."""
        return [pair for pair in self.pairs if pair.is_valid]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule says about evidence; it holds when both fields are None."""

    violation: str | None = None
    """One line of evidence that the rule is broken."""
    missing: str | None = None
    """What was not measured, so that the rule could not be judged."""


HOLDS = Verdict()


def broken(violation: str) -> Verdict:
    """Return the verdict that a rule is broken, with one line of evidence."""
    return Verdict(violation=violation)


def not_observed(missing: str) -> Verdict:
    """Return the verdict that a rule could not be judged, with what it would need."""
    return Verdict(missing=missing)


class Guardrail(ABC):
    """One rule of the facts on how benchmarks mislead.

    Attributes:
        name: name in the log and in reports.
        severity: what a violation means.
        anomaly: number in the list of anomalies; 0 for checks of arithmetic.
    """

    name: str
    severity: Severity
    anomaly: int

    @abstractmethod
    def judge(self, evidence: Evidence) -> Verdict:
        """Judge all evidence; what was not measured never breaks a rule."""


class WindowRule(Guardrail):
    """A rule that every window of every valid pair must obey."""

    @abstractmethod
    def of_window(self, window: WindowSample) -> Verdict:
        """Judge one window."""

    def judge(self, evidence: Evidence) -> Verdict:
        """Return the first violation, and where it was."""
        return first(
            (f"pair {pair.pair}, {arm}: ", self.of_window(window))
            for pair in evidence.valid_pairs()
            for arm, window in arms(pair)
        )


class PairRule(Guardrail):
    """A rule about the two windows of every valid pair."""

    @abstractmethod
    def of_pair(self, candidate: WindowSample, incumbent: WindowSample) -> Verdict:
        """Judge one pair."""

    def judge(self, evidence: Evidence) -> Verdict:
        """Return the first violation, and where it was."""
        return first(
            (f"pair {pair.pair}: ", self.of_pair(pair.candidate, pair.incumbent))
            for pair in evidence.valid_pairs()
        )


def arms(pair: PairMeasured) -> Iterator[tuple[str, WindowSample]]:
    """Yield both windows of a pair with the names of their arms."""
    yield "candidate", pair.candidate
    yield "incumbent", pair.incumbent


def first(verdicts: Iterable[tuple[str, Verdict]]) -> Verdict:
    """Return the first violation; else that it holds if anything was observed; else what lacks.

    Args:
        verdicts: verdicts with what is put before their violation.
    """
    missing = "a valid pair"
    is_observed = False
    for where, verdict in verdicts:
        if verdict.violation is not None:
            return broken(where + verdict.violation)
        if verdict.missing is None:
            is_observed = True
        else:
            missing = verdict.missing
    return HOLDS if is_observed else not_observed(missing)
