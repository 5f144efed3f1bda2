"""The shape of a campaign's result; the JSON of ``arbor report DIR --json``."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from arbor.core.tree import Status
from arbor.events.settings import Settings
from arbor.events.types import AccuracySample, Edit, Effect, Hardware, Profile, Scalar


class ResultModel(BaseModel):
    """Base of all parts of a result: frozen, no unknown fields, no NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Latency(ResultModel):
    """Median over the windows of one arm of the final measurement; null where not measured."""

    ttft_ms_p50: float | None
    ttft_ms_p99: float | None
    tpot_ms_p50: float | None
    tpot_ms_p99: float | None


class Gain(ResultModel):
    """The final claim: the whole stack against the frozen baseline, measured anew."""

    metric: str
    ratio: float
    low: float
    high: float
    alpha: float
    num_pairs: int
    num_starts_per_arm: int
    baseline_tok_s: float | None
    final_tok_s: float | None
    baseline_latency: Latency
    final_latency: Latency
    baseline_commit: str
    final_commit: str
    is_accepted: bool
    """False when the interval does not lie above 1."""


class Accuracy(ResultModel):
    """Distance of the final stack from the frozen baseline."""

    kl_mean: float
    kl_mean_high: float
    top1_agreement_ratio: float
    nll_delta: float
    num_tokens: int
    is_exact: bool
    """True when every action on the path claims not to change numerics."""
    within_gate: bool


class Soak(ResultModel):
    """How the final stack stood peak load."""

    is_accepted: bool
    reason: str


class Counts(ResultModel):
    """Actions by their final outcome."""

    kept: int
    reverted: int
    crashed: int
    vetoed: int
    withdrawn: int
    revoked: int


class Flag(ResultModel):
    """What a guardrail said."""

    rule: str
    severity: Literal["invalid", "suspect", "note"]
    evidence: str


class Judgement(ResultModel):
    """The Critic's verdict on one measurement."""

    purpose: Literal["accuracy", "benchmark"]
    is_accepted: bool
    reason: str
    position: int | None = None
    """Position in the log; for a keep it is the Critic's key."""


class NodeResult(ResultModel):
    """One node of the tree and everything that was measured at it."""

    node_id: str
    parent_id: str | None
    action_id: str | None
    template_id: str | None
    layer: str | None
    category: str | None
    status: Status
    edits: tuple[Edit, ...]
    commit: str | None
    effect: Effect | None
    shrunk_ratio: float | None = None
    """The effect without the luck of selection: empirical Bayes over all measured series."""
    throughput_tok_s: float | None
    accuracy: AccuracySample | None
    profile: Profile | None
    has_witness: bool | None
    witness_detail: str | None
    flags: tuple[Flag, ...]
    judgements: tuple[Judgement, ...]
    kept_position: int | None = None
    """Position of the keep, the Orchestrator's key."""
    reason: str
    root_cause: str | None
    seconds: float | None


class CampaignFacts(ResultModel):
    """What was optimised, where, and under which rules."""

    campaign_id: str
    name: str
    target: str
    objective: str
    hardware: Hardware
    settings: Settings
    root_commit: str
    arbor_version: str
    started_at: str
    is_ended: bool
    end_reason: str | None


class Result(ResultModel):
    """Everything that ``arbor report DIR --json`` prints."""

    schema_version: int = 1
    gain: Gain | None
    gain_reason: str
    """What the gain rests on, or why there is none."""
    soak: Soak | None
    """None when the final stack was not put under peak load."""
    accuracy: Accuracy | None
    accuracy_reason: str
    path_ratio: float = 1.0
    """Product of the keeps' own effects along the path: an estimate, not a claim."""
    shrunk_path_ratio: float = 1.0
    """Product of their shrunk effects."""
    counts: Counts
    wall_s: float
    """Active seconds, without the time in which no driver ran."""
    overhead_ratio: float
    """Share of ``wall_s`` in which nobody held a lease: Arbor's own time."""
    seconds_by_purpose: dict[str, float]
    start_s: float | None
    peak_rss_bytes: int | None
    num_events: int
    log_digest: str
    """Chain digest at the end of the log, as `arbor audit --anchor` prints it."""
    final_node_id: str
    final_commit: str
    final_config: dict[str, Scalar]
    nodes: tuple[NodeResult, ...]
    campaign: CampaignFacts
