"""Settings of a campaign that the reactors obey; recorded in CampaignStarted."""

from typing import Literal

from pydantic import Field

from arbor.events.types import Guard, Objective, PassKind, Value


class BudgetSettings(Value):
    """What a campaign may spend."""

    wall_s: float = Field(default=600.0, gt=0)
    """Wall-clock seconds of active campaign time, without Ray's start."""
    max_trials: int = Field(default=1000, ge=1)
    """Actions that may be dispatched."""
    usd: float = Field(default=0.0, ge=0)
    """Money for model calls; 0 means that none are made."""


class SearchSettings(Value):
    """How the tree is searched."""

    policy: str = "depth_first"
    """Where the tree grows and in which order: a registered name, see docs/design/policies.md."""
    engine: str = "tpe"
    """Search engine for the numbers inside an action, or ``router``, which chooses by evidence."""
    router_arms: tuple[str, ...] = ("tpe", "cma", "random")
    """Engines that the router chooses from."""
    learn_interactions: bool = False
    """True: effects measured before and after a keep correct what else is expected of actions."""
    score: Literal["risk_averse", "as_printed"] = "risk_averse"
    """``as_printed`` is the paper's formula with risk and urgency in the denominator."""
    exploration: float = Field(default=0.05, ge=0)
    """C_s, the weight of the bonus for rarely tried categories."""
    parallel: int = Field(default=2, ge=1, le=64)
    """Specialists at work at once."""
    goal_ratio: float = Field(default=10.0, gt=1)
    """Speed-up over the baseline at which the gap is closed."""
    max_attempts: int = Field(default=2, ge=1, le=10)
    """Attempts at one action, or request, when the environment, not the idea, failed."""
    max_revivals: int = Field(default=4, ge=0, le=20)
    """How often one reverted template may come back when its context changes."""
    tuning_trials: int = Field(default=6, ge=1, le=1000)
    """Screening trials of the tuning specialist inside one action."""
    min_score: float = Field(default=0.0, ge=0)
    """Candidates below this expected gain per cost are left alone."""
    require_approval: tuple[str, ...] = ()
    """Layers or templates whose actions wait for a human's approval."""
    max_server_devices: int = Field(default=0, ge=0)
    """Accelerators that one server may take; 0: as many as the baseline takes."""


class MeasureSettings(Value):
    """How effects are measured and judged."""

    objective: Objective = Objective()
    guards: tuple[Guard, ...] = ()
    """Workloads that must not get worse; played after a gain is proved, and by the claim."""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """Miscoverage of every reported interval, at any stopping time."""
    false_discovery_ratio: float = Field(default=0.1, gt=0, lt=0.5)
    """Bound for the expected share of keeps without any gain, over the whole campaign."""
    min_gain_ratio: float = Field(default=1.01, ge=1)
    """A keep needs an estimate of at least this ratio, and proof that it is above 1."""
    min_pairs: int = Field(default=3, ge=2)
    max_pairs: int = Field(default=24, ge=2)
    max_starts: int = Field(default=3, ge=1)
    """Server starts per arm that the series of a small gain may use."""
    start_sd: float = Field(default=0.012, ge=0)
    """Assumed deviation of the log ratio between starts of identical servers."""
    series_s: float = Field(default=24.0, gt=0)
    """Longest series in seconds, so that small gains wait until windows are short."""
    series_share_ratio: float = Field(default=0.04, gt=0, le=1)
    """Longest series as a share of the budget, where that is more."""
    window_s: float = Field(default=1.2, gt=0)
    """Aimed length of one benchmark window on the incumbent."""
    noise_pairs: int = Field(default=3, ge=2)
    """Pairs of identical arms for the calibration of noise."""
    final_starts: int = Field(default=2, ge=1)
    """Server starts per arm for the final claim."""
    final_pairs: int = Field(default=4, ge=2)
    """Least number of pairs per start for the final claim."""
    final_width_ratio: float = Field(default=0.04, gt=0)
    """Aimed width of the final claim's interval over its ratio; more pairs are taken for it."""
    final_share_ratio: float = Field(default=0.15, gt=0, le=1)
    """Share of the budget that the final claim's windows may take to reach that width."""
    soak_s: float = Field(default=8.0, ge=0)
    """Seconds of peak load that the final stack must stand before it is called good."""
    soak_concurrency_ratio: float = Field(default=2.0, ge=1)
    """Concurrency of the soak over that of the benchmark."""
    max_foreign_cpu_ratio: float = Field(default=0.25, ge=0, le=1)
    """More foreign processor time than this in a window makes a result suspect."""
    max_foreign_cpu_difference: float = Field(default=0.25, ge=0, le=1)
    """A pair whose arms saw foreign load that differs by more is measured again."""


class GateSettings(Value):
    """Accuracy gate against the frozen baseline; every bound meets the bad end of an interval."""

    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """Miscoverage of every interval, over all looks at one check."""
    max_kl_mean: float = Field(default=0.01, gt=0)
    """Bound for the mean KL divergence, in nats."""
    min_top1_agreement_ratio: float = Field(default=0.97, ge=0, le=1)
    max_nll_delta: float = Field(default=0.01, gt=0)
    max_task_drop_ratio: float = Field(default=0.02, gt=0, le=1)
    """Bound for the loss of a task's score, 0.02 being two points of a hundred."""
    max_exact_kl: float = Field(default=1e-5, gt=0)
    """Bound for the mean KL divergence of stacks that claim to be exact."""
    required_passes: tuple[PassKind, ...] = ("single", "batched", "long")
    """What is not measured is not accepted."""


class Settings(Value):
    """All settings of a campaign."""

    seed: int = 0
    budget: BudgetSettings = BudgetSettings()
    search: SearchSettings = SearchSettings()
    measure: MeasureSettings = MeasureSettings()
    gate: GateSettings = GateSettings()
