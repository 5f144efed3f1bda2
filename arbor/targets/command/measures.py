"""Sections of a campaign file that say how a server is measured: benchmark, accuracy, profile."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from arbor.events.types import LatencyMetric, Value
from arbor.targets.command.commands import TimedCommand
from arbor.targets.command.locators import Locator

TraceFormat = Literal["torch", "rocprof"]


class Mix(Value):
    """How a further workload differs from the standard one."""

    input_ratio: float = Field(default=1.0, gt=0)
    output_ratio: float = Field(default=1.0, gt=0)


class OpenAiLoad(Value):
    """Windows that Arbor plays itself against an OpenAI-compatible server."""

    kind: Literal["openai"] = "openai"
    path: Literal["/v1/completions", "/v1/chat/completions"] = "/v1/completions"
    model: str = ""
    """Name that requests give; none when empty."""
    num_token_ids: int = Field(default=0, ge=0)
    """Prompts are token ids below this number; English words when 0."""
    input_tokens: int = Field(default=64, ge=1)
    """Words or token ids of a prompt."""
    output_tokens: int = Field(default=32, ge=2)
    length_spread: float = Field(default=0.0, ge=0, lt=1)
    """Lengths differ by up to this share, in the same way in every window."""
    num_requests: int = Field(default=16, ge=1)
    """Requests of the smallest window."""
    concurrency: int = Field(default=8, ge=1)
    """Requests that the client keeps open."""
    body: dict[str, Any] = Field(default_factory=lambda: {"ignore_eos": True})
    """Further keys of every request, such as what makes answers full length."""
    is_full_length: bool = True
    """Answers that are shorter than asked for are a fault."""
    is_batch_invariant: bool = False
    """The server gives the same tokens in whatever batch, so windows of exact stacks are
    compared token by token. Few servers do."""
    workloads: dict[str, Mix] = Field(default_factory=dict)
    """Further workloads by name, for guards."""
    request_limit_s: float = Field(default=120.0, gt=0)
    limit_s: float = Field(default=600.0, gt=0)
    """Limit of a window, a warm-up and a profile's load each."""


class Results(Value):
    """Where the figures of a window stand in what a benchmark prints."""

    num_failed: Locator
    """Failed requests; a benchmark that cannot tell them cannot be trusted."""
    num_completed: Locator | None = None
    """All others when not given."""
    num_output_tokens: Locator | None = None
    """What is counted as work."""
    tokens_per_request: int | None = Field(default=None, ge=2)
    """Work of each completed request, where a benchmark counts requests only."""
    duration_s: Locator | None = None
    """The command's own time when not given, start and end included."""
    throughput_tok_s: Locator | None = None
    """Work over duration when not given; a guardrail compares the two."""
    num_input_tokens: Locator | None = None
    latencies: dict[LatencyMetric, Locator] = Field(default_factory=dict)
    """Such as ``ttft_ms_p50: median_ttft_ms``, in milliseconds."""

    @model_validator(mode="after")
    def _counts_work(self) -> Self:
        if (self.num_output_tokens is None) == (self.tokens_per_request is None):
            raise ValueError("give one of num_output_tokens and tokens_per_request")
        return self


class CommandLoad(TimedCommand):
    """Windows that a program plays.

    It gets ``${seed}``, ``${num_requests}``, ``${concurrency}``, ``${workload}`` and
    ``${output}``, a file that is read in the place of what it prints if it is there.
    """

    kind: Literal["command"]
    results: Results
    num_requests: int = Field(default=16, ge=1)
    concurrency: int = Field(default=8, ge=1)
    workloads: tuple[str, ...] = ()


class LogprobAccuracy(Value):
    """Distributions of the next token after fixed texts, from an OpenAI-compatible server.

    Every position is a request for one token, which any server with log-probs of generated
    tokens answers.
    """

    kind: Literal["logprobs"]
    path: Literal["/v1/completions"] = "/v1/completions"
    model: str = ""
    body: dict[str, Any] = Field(default_factory=dict)
    num_prompts: int = Field(default=24, ge=2)
    num_words: int = Field(default=48, ge=16)
    num_positions: int = Field(default=8, ge=1)
    """Places of a prompt, over its second half, whose next token is compared."""
    num_first: int = Field(default=8, ge=2)
    """Prompts after which a pass may end early."""
    batch: int | None = Field(default=None, ge=2)
    """Requests open at once in the second pass; what the benchmark keeps open by default."""
    num_long: int = Field(default=4, ge=2)
    num_long_words: int = Field(default=400, ge=32)
    num_long_positions: int = Field(default=48, ge=1)
    top_logprobs: int = Field(default=5, ge=1, le=20)
    """Likeliest tokens that are compared; servers have limits of their own."""
    num_greedy: int = Field(default=4, ge=1)
    num_greedy_tokens: int = Field(default=24, ge=2)

    @model_validator(mode="after")
    def _has_words(self) -> Self:
        for words, positions in (
            (self.num_words, self.num_positions),
            (self.num_long_words, self.num_long_positions),
        ):
            if positions > words // 2:
                raise ValueError(f"{positions} positions need more than {words} words")
        return self


class FixedRequest(Value):
    """A request whose answer is compared with the baseline's."""

    path: str
    method: Literal["GET", "POST"] = "POST"
    body: dict[str, Any] | None = None
    answer: Locator | None = None
    """Where the answer stands; all of it when not given."""


class AnswerAccuracy(Value):
    """Answers to fixed requests, which must be the baseline's word by word: for any server."""

    kind: Literal["answers"]
    requests: tuple[FixedRequest, ...] = Field(min_length=2)
    long_requests: tuple[FixedRequest, ...] = ()
    """For the pass ``long``, which ``gate.required_passes`` asks for by default."""
    batch: int | None = Field(default=None, ge=2)


class CommandAccuracy(TimedCommand):
    """A score that a program prints, such as the share of solved problems."""

    kind: Literal["command"]
    name: str = "score"
    items: Locator | None = None
    """List of 0 and 1, one for each problem in a fixed order: paired with the baseline's."""
    score: Locator | None = None
    """The score alone, between 0 and 1; then ``num_items`` too."""
    num_items: Locator | None = None

    @model_validator(mode="after")
    def _has_a_score(self) -> Self:
        has_score = self.score is not None and self.num_items is not None
        if (self.items is None) != has_score or (self.items is not None and self.score):
            raise ValueError("give items, or score and num_items")
        return self


class NoAccuracy(Value):
    """What a campaign file may not ask for."""

    kind: Literal["none"]

    @model_validator(mode="after")
    def _is_refused(self) -> Self:
        raise ValueError(
            "accuracy none would keep nothing, since what was not measured is not accepted; "
            "use logprobs, answers or command"
        )


class NoProfile(Value):
    """Nothing is known of where the time goes; every action is about all of it."""

    kind: Literal["none"] = "none"


class HttpProfile(Value):
    """A profiler that requests start and stop, as in vLLM and SGLang."""

    kind: Literal["http"]
    start: str = "/start_profile"
    start_body: dict[str, Any] | None = None
    stop: str = "/stop_profile"
    format: TraceFormat = "torch"
    traces: str = "${scratch}"
    """Folder that the server was told to write to."""
    stop_limit_s: float = Field(default=300.0, gt=0)
    """How long writing the traces may take."""


class CommandProfile(TimedCommand):
    """A program that finds out where the time goes; ``${output}`` is a folder for it."""

    kind: Literal["command"]
    format: TraceFormat | Literal["shares"] = "shares"
    """``shares``: it prints an object of category and share; else it writes traces."""
    shares: Locator | None = None
    """Where that object stands; it is the whole document when not given."""
    is_under_load: bool = True
    """A window is played meanwhile."""


Benchmark = Annotated[OpenAiLoad | CommandLoad, Field(discriminator="kind")]
Accuracy = Annotated[
    LogprobAccuracy | AnswerAccuracy | CommandAccuracy | NoAccuracy, Field(discriminator="kind")
]
ProfileSource = Annotated[NoProfile | HttpProfile | CommandProfile, Field(discriminator="kind")]
