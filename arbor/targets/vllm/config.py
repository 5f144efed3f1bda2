"""Options of the ``vllm`` target."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from arbor.events.types import Scalar, Value
from arbor.targets.vllm.checkpoints import Checkpoint
from arbor.targets.vllm.entry import DeviceKind, ModelTrait
from arbor.targets.vllm.own_actions import OwnAction

Client = Literal["builtin", "bench"]

DEFAULT_ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
"""Nothing is asked of a hub and nothing is told to one, unless a campaign says otherwise."""


class Workload(Value):
    """What a window plays."""

    dataset: Literal["random", "text"] = "random"
    """Prompts of uniform tokens, or of English prose in the model's own tokens."""
    input_tokens: int = Field(default=256, ge=2)
    output_tokens: int = Field(default=64, ge=2)
    prefix_tokens: int = Field(default=0, ge=0)
    """Leading tokens that all prompts of a window share, within ``input_tokens``."""
    length_spread: float = Field(default=0.0, ge=0, lt=1)
    """Lengths differ by up to this share, in the same way in every window."""
    num_requests: int | None = Field(default=None, ge=1)
    """Requests of the smallest window; twice the concurrency when not given."""
    concurrency: int = Field(default=16, ge=1)
    """Requests that the client keeps open."""
    request_rate: Literal["inf"] | Annotated[float, Field(gt=0)] = "inf"
    """Requests that begin per second; ``inf`` begins one whenever another ends."""

    @property
    def unit(self) -> int:
        """Requests of the smallest window."""
        return self.num_requests if self.num_requests is not None else 2 * self.concurrency

    @model_validator(mode="after")
    def _has_own_tokens(self) -> Self:
        if self.prefix_tokens >= self.input_tokens:
            raise ValueError(
                f"prefix_tokens {self.prefix_tokens} leaves nothing of input_tokens "
                f"{self.input_tokens} to differ"
            )
        return self


class CheckSettings(Value):
    """How much the accuracy check compares."""

    dataset: Literal["random", "text"] = "text"
    num_sequences: int = Field(default=24, ge=2)
    num_tokens: int = Field(default=64, ge=16)
    """Length of a prompt; its first token is not predicted."""
    num_first: int = Field(default=8, ge=2)
    """Prompts after which a pass may end early."""
    batch: int | None = Field(default=None, ge=2)
    """Prompts sent together in the second pass; by default the workload's concurrency."""
    num_long: int = Field(default=4, ge=2)
    long_tokens: int = Field(default=1024, ge=64)
    """Length of a long prompt, within what the model takes."""
    num_long_first: int = Field(default=2, ge=2)
    top_logprobs: int = Field(default=10, ge=1, le=20)
    """Likeliest tokens compared at each position; vLLM's own limit is 20 by default."""
    num_greedy: int = Field(default=4, ge=1)
    """Prompts that are also continued, one at a time."""
    num_greedy_tokens: int = Field(default=24, ge=2)


class LmEvalSettings(Value):
    """A run of lm-evaluation-harness; only a real model has a score worth measuring."""

    task: str = Field(min_length=1)
    metric: str = Field(min_length=1)
    """As its results name it, with the filter, such as ``exact_match,strict-match``."""
    num_fewshot: int | None = Field(default=None, ge=0)
    limit: int | None = Field(default=None, ge=1)
    """Items; all of them when not given. 200 items cannot hold a bound of two points."""
    include_path: Path | None = None
    """Folder of task files, for tasks whose data lie on this machine."""
    concurrency: int = Field(default=16, ge=1)
    executable: Path | None = None
    """``lm_eval`` beside vLLM's executable by default."""
    limit_s: float = Field(default=3600.0, gt=0)


class VllmTargetConfig(Value):
    """What is served, under which load, and within which limits."""

    model: Path
    """Folder of the model on this machine, with its config.json."""
    executable: Path | None = None
    """The ``vllm`` of vLLM's own environment; the first one in PATH by default."""
    python: Path | None = None
    """Interpreter of vLLM's own environment, in the place of ``executable``."""
    load_format: str = "auto"
    """``dummy`` serves random weights, so that only config.json is needed."""
    args: dict[str, Scalar] = Field(default_factory=dict)
    """Options of the baseline without dashes, as in ``max-model-len: 4096``."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables of the baseline."""
    device: DeviceKind | None = None
    """What servers run on; what this machine has when not given. A driver without accelerators has
    to be told."""
    traits: tuple[ModelTrait, ...] = ()
    """What config.json does not tell of the model."""
    actions: tuple[str, ...] = ()
    """Entries of the catalog to try; all that apply when empty."""
    checkpoints: tuple[Checkpoint, ...] = ()
    """Other forms of the model, each an action."""
    own_actions: tuple[OwnAction, ...] = ()
    """Further actions, which the catalog does not have."""
    screening: Literal["server", "in_process", "none"] = "server"
    """Where specialists try what they propose. An engine inside one process starts sooner on a
    processor; what acts on threads or on the front end is tried on a server all the same. With
    ``none`` an action without numbers to search is proposed untried, for servers that start
    slowly: the bench sees whether it runs."""
    workload: Workload = Workload()
    client: Client = "builtin"
    """Who plays windows: Arbor, or ``vllm bench serve``, which starts slowly."""
    cost_ratio: float = Field(default=1.0, gt=0)
    """Multiplies the catalog's costs, which assume starts of some minutes with a large model."""
    is_batch_invariant: bool = False
    """The stack gives the same tokens in whatever batch, so windows of exact stacks are
    compared token by token; vLLM does so under VLLM_BATCH_INVARIANT=1 alone."""
    check: CheckSettings = CheckSettings()
    lm_eval: LmEvalSettings | None = None
    servers_per_device: int = Field(default=3, ge=1)
    """Servers that have to fit beside each other on the accelerators: two arms, and one of a
    specialist or of a profile. With one or two, the arms of a comparison are started in turn."""
    max_foreign_memory_bytes: int = Field(default=2**30, ge=0)
    """Memory of an accelerator that others may hold when a server is started."""
    profile_requests: int | None = Field(default=None, ge=1)
    """Requests of a profile; the workload's concurrency by default. Traces grow with them."""
    start_limit_s: float = Field(default=900.0, gt=0)
    request_limit_s: float = Field(default=120.0, gt=0)
    load_limit_s: float = Field(default=900.0, gt=0)
    """Limit of a window, a warm-up and a profile's load each."""
    memory_limit_s: float = Field(default=60.0, gt=0)
    """How long an accelerator's memory may take to become free."""
    log_limit_bytes: int = Field(default=64 * 2**20, ge=2**16)
    cache: Path | None = None
    """Folder of what can be found out again; ARBOR_CACHE or ~/.cache/arbor by default."""

    @field_validator("args")
    @classmethod
    def _are_options(cls, args: dict[str, Scalar]) -> dict[str, Scalar]:
        for name in args:
            if name.startswith("-") or "_" in name.partition(".")[0]:
                raise ValueError(f"{name!r} is no option; write one such as max-model-len")
        return args

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.executable is not None and self.python is not None:
            raise ValueError("executable and python are both given; keep one")
        if self.workload.request_rate != "inf" and self.client != "bench":
            raise ValueError("a request_rate is played by `client: bench` alone; set it, or inf")
        if self.workload.dataset == "text" and self.client == "bench":
            raise ValueError("`client: bench` plays the random dataset alone")
        return self
