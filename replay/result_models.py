"""The shape of a campaign's result; the JSON of ``arbor report DIR --json``."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from arbor.core.tree import Status
from arbor.events.settings import Settings
from arbor.events.types import (
    AccuracySample,
    Edit,
    Effect,
    Hardware,
    Profile,
    Scalar,
    TaskScore,
)


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
    """Distance of the final stack from the frozen baseline, the worst over all passes."""

    kl_mean: float
    kl_mean_high: float
    top1_agreement_ratio: float
    top1_agreement_low_ratio: float
    nll_delta: float
    nll_delta_high: float
    task: TaskScore | None
    greedy_match_ratio: float | None
    num_tokens: int
    num_prompts: int
    """Prompts that were compared, over all passes."""
    batches: tuple[int, ...]
    """Sizes of the batches that prompts were computed in."""
    context_tokens: int
    """Length of the longest prompt."""
    is_exact: bool
    """True when every action on the path claims not to change numerics."""
    within_gate: bool


class Soak(ResultModel):
    """How the final stack stood peak load."""

    is_accepted: bool
    reason: str


class ExactPart(ResultModel):
    """The best beginning of the final path whose actions all claim not to change numerics."""

    node_id: str
    commit: str
    num_actions: int
    estimated_ratio: float
    """Product of the measured effects up to this node: an estimate, not a claim."""
    whole_estimated_ratio: float
    """The same product for the whole final stack."""
    is_whole: bool
    """True when the final stack is this part."""


class Counts(ResultModel):
    """Actions by their final outcome."""

    kept: int
    reverted: int
    crashed: int
    vetoed: int
    refused: int = 0
    """Patches that were not allowed to be measured."""
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
    claims_exact: bool
    """True when every action up to this node claims not to change numerics."""
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
    exact: ExactPart
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
    """Chain digest at the end of the log, as `arbor audit` prints it."""
    final_node_id: str
    final_commit: str
    final_config: dict[str, Scalar]
    nodes: tuple[NodeResult, ...]
    campaign: CampaignFacts
