"""Value types that events carry: actions, edits, samples, profiles, effects."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Scalar = bool | int | float | str
"""What a configuration key may hold."""


class Value(BaseModel):
    """Base of all value types: frozen, no unknown fields, no NaN or infinity."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants"
    )


class Layer(StrEnum):
    """Layer of the serving stack that an action changes."""

    APPLICATION = "application"
    FRAMEWORK = "framework"
    COMPILER = "compiler"
    KERNEL = "kernel"
    COMMUNICATION = "communication"
    DISPATCH = "dispatch"


class Edit(Value):
    """One typed change of a configuration key, as ``section.key`` and its new value."""

    key: str
    value: Scalar


class Parameter(Value):
    """One dimension of a search space."""

    key: str
    """Configuration key that the parameter sets."""
    kind: Literal["int", "float", "categorical"]
    low: float | None = None
    """Inclusive lower bound of a number."""
    high: float | None = None
    """Inclusive upper bound of a number."""
    log: bool = False
    """True when the number is searched on a logarithmic scale."""
    choices: tuple[Scalar, ...] = ()
    """Values of a categorical parameter."""
    when: "tuple[Requirement, ...]" = ()
    """Earlier parameters of the space and the values with which this one exists; empty: always."""


class Requirement(Value):
    """A configuration key must hold one of these values before an action makes sense."""

    key: str
    any_of: tuple[Scalar, ...]


class Witness(Value):
    """Proof that an action took effect.

    ``counter`` passes when the named counter grew during the window; ``config`` passes when the
    server reports the edited keys with the edited values in its resolved configuration, and the
    named key, if there is one: such as ``overlay.sampler.py`` of an action that changes code.
    ``all`` passes when every one of ``parts`` does.
    """

    kind: Literal["counter", "config", "all"]
    key: str = ""
    parts: "tuple[Witness, ...]" = ()


class ActionTemplate(Value):
    """One entry of a target's catalog."""

    template_id: str
    layer: Layer
    category: str
    """Profile category that the action touches, such as ``attention``."""
    title: str
    edits: tuple[Edit, ...] = ()
    space: tuple[Parameter, ...] = ()
    """Numbers that the tuning specialist searches; empty for a plain configuration action."""
    requires: tuple[Requirement, ...] = ()
    conflicts: tuple[Requirement, ...] = ()
    """Each rules the action out where the configuration holds one of its values."""
    unlocked_by: tuple[str, ...] = ()
    """Templates whose keep may change the worth of this one (a hint; never a gate)."""
    prior_speedup_ratio: float = Field(default=1.1, gt=0)
    """Expected speed-up of the touched share, from the catalog or the knowledge base."""
    prior_accuracy_risk_ratio: float = Field(default=0.02, ge=0, lt=1)
    prior_crash_risk_ratio: float = Field(default=0.02, ge=0, lt=1)
    cost_s: float = Field(default=20.0, gt=0)
    """Expected wall-clock cost of one attempt: implement, start, check, measure."""
    is_exact: bool = True
    """True when the action claims not to change numerics."""
    language: str = "config"
    """What a specialist writes for it: ``config``, or a language such as ``triton``."""
    witness: Witness = Witness(kind="config")


class CategoryShare(Value):
    """Share of time of one profile category."""

    category: str
    share_ratio: float = Field(ge=0, le=1)


class KernelShare(Value):
    """One kernel, or operator of a processor, of a profile."""

    name: str
    category: str
    share_ratio: float = Field(ge=0, le=1)
    """Part of the time of all kernels."""
    num_calls: int = Field(ge=0)


class PhaseShares(Value):
    """One phase of serving in a profile."""

    phase: Literal["prefill", "decode"]
    """``prefill``: steps that prompt tokens were part of."""
    share_ratio: float = Field(ge=0, le=1)
    """Part of the kernels' time in all steps."""
    shares: tuple[CategoryShare, ...]


class Profile(Value):
    """Where the time of a serving stack goes."""

    shares: tuple[CategoryShare, ...]
    window_s: float = Field(ge=0)
    source: str
    """Tool that took the profile."""
    idle_ratio: float | None = Field(default=None, ge=0, le=1)
    """Part of the window in which no kernel ran: time that waits for the host."""
    exposed_comm_ratio: float | None = Field(default=None, ge=0, le=1)
    """Part of the window with communication and no computation beside it."""
    num_ranks: int | None = None
    """Devices or ranks that the figures are medians of."""
    num_streams: int | None = None
    """Most streams, queues or threads of a rank that worked."""
    phases: tuple[PhaseShares, ...] = ()
    kernels: tuple[KernelShare, ...] = ()
    """Those that took most time, in falling order."""

    def share_of(self, category: str) -> float:
        """Return the share of a category; an unknown or empty one counts as all of the time."""
        if category in {"", "all"}:
            return 1.0
        return next((s.share_ratio for s in self.shares if s.category == category), 0.0)


LatencyMetric = Literal[
    "ttft_ms_p50",
    "ttft_ms_p95",
    "ttft_ms_p99",
    "tpot_ms_p50",
    "tpot_ms_p95",
    "tpot_ms_p99",
    "itl_ms_p50",
    "itl_ms_p95",
    "itl_ms_p99",
]
"""A latency of a window: time to first token, per output token, between tokens."""


class Slo(Value):
    """A service level objective: a latency that must not be exceeded."""

    metric: LatencyMetric
    max_ms: float = Field(gt=0)


class Load(Value):
    """What a window plays; the default is the target's own workload and concurrency."""

    workload: str = ""
    """Name of one of the target's workloads."""
    concurrency: int | None = Field(default=None, ge=1)
    """Requests open at once."""


class Objective(Value):
    """What is made larger; a window's or a sweep's value is positive, more is better."""

    metric: (
        Literal[
            "throughput_tok_s",
            "request_throughput_req_s",
            "throughput_tok_s_per_device",
            "tokens_per_joule",
            "hypervolume",
        ]
        | LatencyMetric
    ) = "throughput_tok_s"
    """A latency counts by its inverse. ``hypervolume`` is the area that the throughput-latency
    points of ``sweep`` dominate."""
    slos: tuple[Slo, ...] = ()
    """A window that misses one has its value divided by the excess, so that a baseline that
    misses it can get nearer."""
    sweep: tuple[int, ...] = ()
    """Concurrencies of a hypervolume, one window each."""
    latency: LatencyMetric = "tpot_ms_p50"
    """Latency axis of a hypervolume."""
    max_latency_ms: float = Field(default=1000.0, gt=0)
    """Reference point of a hypervolume: points with a higher latency dominate nothing."""

    @model_validator(mode="after")
    def _has_sweep(self) -> Self:
        if self.metric == "hypervolume" and not self.sweep:
            raise ValueError("metric hypervolume needs a sweep of concurrencies, such as [1, 8]")
        return self


class Guard(Value):
    """A workload that a keep must not make worse."""

    name: str
    load: Load = Load()
    objective: Objective = Objective()
    max_loss_ratio: float = Field(default=0.03, ge=0, lt=1)
    """Loss of the guard's objective that is let pass."""
    num_pairs: int = Field(default=4, ge=2)


class Counter(Value):
    """Growth of one server counter during a window."""

    key: str
    value: float


class WindowSample(Value):
    """One benchmark window on one server."""

    num_completed: int = Field(ge=0)
    num_failed: int = Field(ge=0)
    num_input_tokens: int = Field(ge=0)
    num_output_tokens: int = Field(ge=0)
    duration_s: float = Field(gt=0)
    throughput_tok_s: float = Field(ge=0)
    """Output tokens per second of wall time."""
    num_planned_requests: int | None = None
    """Requests that the workload asked for."""
    num_planned_input_tokens: int | None = None
    num_planned_output_tokens: int | None = None
    num_rejected: int | None = None
    """Failed requests that the server refused, such as prompts that are too long."""
    num_empty: int | None = None
    """Completed requests without a single token."""
    num_chunks: int | None = None
    """Messages with tokens that the streams arrived in."""
    num_served_requests: int | None = None
    """Requests that ended well by the server's own count."""
    num_served_output_tokens: int | None = None
    """Output tokens by the server's own count."""
    num_concurrent_planned: int | None = None
    """Requests that the client was to keep open."""
    num_concurrent_max: int | None = None
    """Most requests that were open at once."""
    ttft_ms_mean: float | None = None
    ttft_ms_p50: float | None = None
    ttft_ms_p95: float | None = None
    ttft_ms_p99: float | None = None
    tpot_ms_mean: float | None = None
    """Time of the tokens after the first ones over their number: long answers weigh more."""
    tpot_ms_p50: float | None = None
    tpot_ms_p95: float | None = None
    tpot_ms_p99: float | None = None
    itl_ms_p50: float | None = None
    """Gap between two chunks of a stream."""
    itl_ms_p95: float | None = None
    itl_ms_p99: float | None = None
    e2e_ms_mean: float | None = None
    """From a request sent to its last token, as the client saw it."""
    server_e2e_ms_mean: float | None = None
    """From a request read to its last token handed out, as the server saw it."""
    first_tenth_ratio: float | None = None
    """Time until a tenth of the output tokens had arrived, over a tenth of the duration."""
    num_preemptions: int | None = None
    num_shared_input_tokens: int | None = None
    """Planned input tokens that an ideal prefix cache takes from other requests of the window."""
    num_reused_input_tokens: int | None = None
    """Input tokens that the server took from its prefix cache."""
    num_compilations: int | None = None
    """Pieces of code that the server compiled during the window."""
    is_code_cached: bool | None = None
    """True when all that the server compiled so far came from a cache; None without a compiler."""
    debug_switches: tuple[str, ...] | None = None
    """Profilers and debug options that were on in the server."""
    num_log_warnings: int | None = None
    """Warnings and errors that the server logged during the window."""
    peaks: tuple[Counter, ...] = ()
    """Most that the window asked of a limit, by the limit's configuration key."""
    server_cpu_s: float | None = None
    client_cpu_s: float | None = None
    foreign_cpu_ratio: float | None = None
    """Processor time of other processes during the window, as a share of all cores."""
    clock_mhz_mean: float | None = None
    """Clock of the device, or of the processor's cores."""
    num_throttlings: int | None = None
    """Times that power or heat lowered the clock."""
    energy_j: float | None = None
    """Energy of the whole package, as far as the machine tells."""
    output_digest: str = ""
    """Digest of the greedy output tokens, for arms that claim to be exact."""
    seed: int = 0
    counters: tuple[Counter, ...] = ()
    client_result: str = ""
    """What a benchmark program of the server's own told, as JSON, without single requests."""


PassKind = Literal["single", "batched", "long"]
"""How accuracy prompts are computed.

``single``: one by one; ``batched``: as many at once as the benchmark keeps open; ``long``: near
the longest context.
"""


class PromptDistance(Value):
    """Distances on one prompt, the unit of every interval: tokens of a prompt are dependent."""

    num_tokens: int = Field(ge=1)
    """Positions that were compared."""
    kl_mean: float = Field(ge=0)
    num_top1_equal: int = Field(ge=0)
    nll_delta: float
    max_logprob_delta: float = Field(ge=0)
    num_task_hits: int = Field(default=0, ge=0)
    """Positions where the stack solved the task, out of ``num_tokens``."""
    num_baseline_task_hits: int = Field(default=0, ge=0)


class AccuracyPass(Value):
    """Prompts that were computed in the same way."""

    kind: PassKind
    batch: int = Field(ge=1)
    """Most sequences that were computed together."""
    context_tokens: int = Field(ge=1)
    """Length of the longest prompt."""
    prompts: tuple[PromptDistance, ...]


class TaskScore(Value):
    """Score of a task whose solution is known, paired with the baseline's."""

    name: str
    score: float = Field(ge=0, le=1)
    standard_error: float = Field(ge=0)
    """Of the score, from prompt to prompt."""
    num_items: int = Field(ge=0)
    baseline_score: float = Field(ge=0, le=1)
    drop_low: float
    """Lower end of the interval of the baseline's score minus this one, paired."""
    drop_high: float
    """Upper end of that interval."""


class AccuracySample(Value):
    """Distance of a stack from the frozen baseline on fixed prompts, the worst of all passes."""

    num_tokens: int = Field(ge=0)
    """Positions that were compared, over all passes."""
    kl_mean: float
    """Mean KL divergence from the baseline's next-token distribution, in nats."""
    kl_mean_high: float
    """Upper end of the interval of the mean."""
    top1_agreement_ratio: float = Field(ge=0, le=1)
    top1_agreement_low_ratio: float = Field(default=0.0, ge=0, le=1)
    """Lower end of its interval; 0 while it is unknown."""
    nll_delta: float
    """Mean negative log-likelihood minus the baseline's, in nats per token."""
    nll_delta_high: float = 1000.0
    """Upper end of its interval; 1000 while it is unknown."""
    max_logprob_delta: float = Field(ge=0)
    greedy_match_ratio: float | None = None
    """Share of free-running greedy tokens equal to the baseline's, where they were compared."""
    task: TaskScore | None = None
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Miscoverage of each interval."""
    passes: tuple[AccuracyPass, ...] = ()
    """What all figures are computed from; the accuracy gate reads nothing else but the task."""


class Effect(Value):
    """Measured effect of a candidate against an incumbent."""

    ratio: float = Field(gt=0)
    """Candidate over incumbent, from the mean log ratio of pairs; above 1 is better."""
    low: float = Field(ge=0)
    """Lower bound of the interval of the ratio."""
    high: float = Field(gt=0)
    """Upper bound of the interval of the ratio."""
    alpha: float = Field(gt=0, lt=1)
    """Miscoverage of the interval, at any stopping time."""
    num_pairs: int = Field(ge=0)
    sd_log_ratio: float = Field(ge=0)
    num_starts_per_arm: int = Field(ge=1)


class SeriesPlan(Value):
    """How a series of pairs is measured and judged, fixed before its first pair."""

    alpha: float = Field(gt=0, lt=1)
    """One-sided level of the test of no gain, from the control of false discoveries."""
    min_pairs: int = Field(ge=2)
    max_pairs: int = Field(ge=2)
    max_starts: int = Field(default=1, ge=1)
    """Server starts per arm that the series may use."""
    candidate_windows: int = Field(default=1, ge=1)
    """Windows of the candidate in a pair: those of a fast stack are short, cheap and noisy."""
    min_gain_ratio: float = Field(ge=1)
    """A gain needs an estimate of at least this much."""
    start_sd: float = Field(ge=0)
    """Assumed deviation of the log ratio from start to start."""
    noise_sd: float | None = Field(default=None, ge=0)
    """Deviation of a pair's log ratio, pooled over the campaign so far."""
    noise_sd_high: float | None = Field(default=None, ge=0)
    """Upper confidence bound of it."""
    mde_ratio: float | None = Field(default=None, ge=1)
    """Smallest effect that the series finds with power 0.8."""


class GuardEffect(Value):
    """What a candidate did to a guard workload."""

    name: str
    effect: Effect
    max_loss_ratio: float


class NotObserved(Value):
    """Something that a machine has or may have, and why nobody can say."""

    what: str
    reason: str


class Accelerator(Value):
    """One accelerator, as its vendor's tool shows it; None and empty mean not observed."""

    index: int = Field(ge=0)
    """Number that the vendor's tool gives it."""
    name: str
    architecture: str = ""
    """``gfx942``, or ``sm_90`` for compute capability 9.0."""
    memory_bytes: int | None = Field(default=None, ge=0)
    uuid: str = ""
    num_compute_dies: int | None = None
    """Compute dies (XCDs) of an AMD device or partition."""
    partition: str = ""
    """``SPX/NPS1`` (compute and memory mode) or ``MIG``; empty: whole, or not observed."""
    numa_node: int | None = None


class Hardware(Value):
    """The machine that a campaign runs on; None and empty mean not observed."""

    host: str
    kind: str
    """``cpu``, ``amd`` or ``nvidia``."""
    device_name: str
    """Model of the processor; accelerators are named in ``devices``."""
    num_cores: int = Field(ge=1)
    """Cores that this process may run on."""
    memory_bytes: int = Field(ge=0)
    num_devices: int = Field(default=0, ge=0)
    """Accelerators; more than ``devices`` holds when no tool could describe them."""
    devices: tuple[Accelerator, ...] = ()
    driver_version: str = ""
    runtime_version: str = ""
    """``ROCm 7.0.2`` or ``CUDA 13.0``."""
    num_sockets: int | None = None
    num_physical_cores: int | None = None
    num_numa_nodes: int | None = None
    isa_flags: tuple[str, ...] = ()
    """Instruction sets that matter to kernels: AVX, AMX, SVE."""
    memory_limit_bytes: int | None = Field(default=None, ge=0)
    """Limit of the process's control groups; None: no limit, or not observed."""
    cpu_limit_cores: float | None = Field(default=None, ge=0)
    """Processor time per second that the control groups allow; None as above."""
    not_observed: tuple[NotObserved, ...] = ()


class ScoreTerms(Value):
    """Everything that entered a score, so that it can be recomputed."""

    share_ratio: float
    speedup_ratio: float
    cost_ratio: float
    accuracy_risk_ratio: float
    crash_risk_ratio: float
    gap_ratio: float
    num_tries: int
    num_category_tries: int
    exploration: float
    unlocked_gain_ratio: float = 0.0
    """Discounted expected gain of the best action that only this one makes possible."""


class ProbeReading(Value):
    """One probe of an adviser's prior and what it was held against."""

    probe: Literal["correct_rate", "collapse", "slope", "size_shift"]
    value: float
    low: float | None = None
    """Lower end of its interval; None where it has none."""
    high: float | None = None
    num: int = Field(default=0, ge=0)
    """Observations behind it."""
    says: Literal["dense", "sparse", "nothing"] = "nothing"


class ArmReading(Value):
    """What the router knew about one engine."""

    engine: str
    num_plays: int = Field(default=0, ge=0)
    """Plays within the window."""
    gain_per_cost: float = 0.0
    """Mean log gain per trial of these plays."""
    bound: float | None = None
    """Upper confidence bound that it was chosen by; None: never played, so it comes first."""


class ReviveCondition(Value):
    """When a reverted idea deserves another try."""

    kept_any_of: tuple[str, ...] = ()
    """Templates; a keep of one of them revives the idea."""
    category: str = ""
    share_above_ratio: float = Field(default=1.0, ge=0)
    """Profile share of ``category`` above which the idea has merit; 1 means never."""


class ConstraintScope(Value):
    """What a constraint forbids: a template, with edits, below a node (empty: everywhere)."""

    template_id: str
    edits: tuple[Edit, ...] = ()
    """Only proposals that contain all of these edits are forbidden; empty forbids all."""
    context: tuple[Edit, ...] = ()
    """Only where the configuration holds all of these."""


class RebuiltPart(Value):
    """An action inside another: kept on a revoked path that is rebuilt, or tried in a bundle."""

    node_id: str
    """Node as which it was kept or tried; empty for a switch of a stack, which was neither."""
    action_id: str
    template_id: str
    edits: tuple[Edit, ...]


Ratio = Annotated[float, Field(ge=0, le=1)]
