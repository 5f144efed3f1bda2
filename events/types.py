"""Value types that events carry: actions, edits, samples, profiles, effects."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Scalar = bool | int | float | str
"""What a configuration key may hold."""


class Value(BaseModel):
    """Base of all value types: frozen, no unknown fields, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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


class Requirement(Value):
    """A configuration key must hold one of these values before an action makes sense."""

    key: str
    any_of: tuple[Scalar, ...]


class Witness(Value):
    """Proof that an action took effect.

    ``counter`` passes when the named counter grew during the window; ``config`` passes when the
    server reports the edited keys with the edited values in its resolved configuration, and the
    named key, if there is one: such as ``overlay.sampler.py`` of an action that changes code.
    """

    kind: Literal["counter", "config"]
    key: str = ""


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
    witness: Witness = Witness(kind="config")


class CategoryShare(Value):
    """Share of time of one profile category."""

    category: str
    share_ratio: float = Field(ge=0, le=1)


class Profile(Value):
    """Where the time of a serving stack goes."""

    shares: tuple[CategoryShare, ...]
    window_s: float = Field(ge=0)
    source: str
    """Tool that took the profile."""

    def share_of(self, category: str) -> float:
        """Return the share of a category; an unknown or empty one counts as all of the time."""
        if category in {"", "all"}:
            return 1.0
        return next((s.share_ratio for s in self.shares if s.category == category), 0.0)


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
    ttft_ms_p50: float | None = None
    ttft_ms_p99: float | None = None
    tpot_ms_p50: float | None = None
    tpot_ms_p99: float | None = None
    server_cpu_s: float | None = None
    client_cpu_s: float | None = None
    foreign_cpu_ratio: float | None = None
    """Processor time of other processes during the window, as a share of all cores."""
    output_digest: str = ""
    """Digest of the greedy output tokens, for arms that claim to be exact."""
    seed: int = 0
    counters: tuple[Counter, ...] = ()


class AccuracySample(Value):
    """Distance of a stack from the frozen baseline, teacher-forced on fixed prompts."""

    num_tokens: int = Field(ge=0)
    kl_mean: float
    """Mean KL divergence from the baseline's next-token distribution, in nats."""
    kl_mean_high: float
    """Upper bound of the 95 % interval of the mean."""
    top1_agreement_ratio: float = Field(ge=0, le=1)
    nll_delta: float
    """Mean negative log-likelihood minus the baseline's, in nats per token."""
    max_logprob_delta: float = Field(ge=0)
    greedy_match_ratio: float | None = None
    """Share of greedy tokens equal to the baseline's, where they were compared."""


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


class Hardware(Value):
    """The machine that a campaign runs on."""

    host: str
    kind: str
    """``cpu``, ``amd`` or ``nvidia``."""
    device_name: str
    num_cores: int = Field(ge=1)
    memory_bytes: int = Field(ge=0)
    num_devices: int = Field(default=0, ge=0)


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


Ratio = Annotated[float, Field(ge=0, le=1)]
