"""Events of evidence, appended by the Bench as it sees it."""

from typing import ClassVar, Literal

from pydantic import Field

from arbor.events.base import Event
from arbor.events.types import AccuracySample, Edit, Effect, GuardEffect, Profile, WindowSample


class EvidenceEvent(Event):
    """Base of everything that answers a MeasurementRequested."""

    area: ClassVar[str] = "evidence"

    request_id: str
    node_id: str
    commit: str
    """Commit that was measured."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"request:{self.request_id}", f"node:{self.node_id}"}


class ProfileTaken(EvidenceEvent):
    """Shares of time of a node."""

    kind: Literal["ProfileTaken"] = "ProfileTaken"

    profile: Profile


class NoiseCalibrated(EvidenceEvent):
    """What identical arms look like here."""

    kind: Literal["NoiseCalibrated"] = "NoiseCalibrated"

    effect: Effect
    """Effect between two servers of the same commit; its interval should hold 1."""
    mde_ratio: float
    """Smallest effect that the campaign's first series would find with power 0.8."""
    num_requests: int = Field(ge=1)
    """Requests in a window of the aimed length on the baseline."""


class AccuracyMeasured(EvidenceEvent):
    """Distance of a node from the frozen baseline."""

    kind: Literal["AccuracyMeasured"] = "AccuracyMeasured"

    sample: AccuracySample


class PairMeasured(EvidenceEvent):
    """Two adjacent windows, raw, as they happened."""

    kind: Literal["PairMeasured"] = "PairMeasured"

    pair: int = Field(ge=1)
    start: int = Field(ge=1)
    """Which server start of each arm the pair was taken on."""
    is_candidate_first: bool
    candidate: WindowSample
    incumbent: WindowSample
    log_ratio: float
    """Natural logarithm of candidate over incumbent, of the objective's values."""
    guard: str = ""
    """Guard workload that was played; empty for the objective's own."""
    candidate_sweep: tuple[WindowSample, ...] = ()
    """Further windows of the arm: a hypervolume's other concurrencies, or more of equal work."""
    incumbent_sweep: tuple[WindowSample, ...] = ()
    is_valid: bool = True
    """False when a window broke a rule and the pair does not count."""
    flaw: str | None = None


class BenchmarkMeasured(EvidenceEvent):
    """The verdict-free result of a series of pairs."""

    kind: Literal["BenchmarkMeasured"] = "BenchmarkMeasured"

    purpose: Literal["benchmark", "revalidation"]
    incumbent_commit: str
    effect: Effect
    stop: Literal["gain", "no_gain", "max_pairs", "planned"]
    has_witness: bool
    """True when every candidate window proved that the action took effect."""
    witness_detail: str
    guards: tuple[GuardEffect, ...] = ()
    """What it did to the workloads that must not get worse."""
    mean_throughput_tok_s: float
    """Geometric mean of the candidate's valid windows."""
    resolved_config: tuple[Edit, ...] = ()
    """What the candidate's server said it ran with, by key."""


class SoakMeasured(EvidenceEvent):
    """How a stack stood a stretch of peak load."""

    kind: Literal["SoakMeasured"] = "SoakMeasured"

    windows: tuple[WindowSample, ...]
    """In the order in which they were played, without a pause."""
    concurrency: int = Field(ge=1)
    server_rss_bytes: tuple[int, ...] = ()
    """Resident memory of the server after each window, where the target can tell."""
