"""Events of calls to language models."""

from typing import ClassVar, Literal

from pydantic import Field

from arbor.events.base import Event

CallOutcome = Literal[
    "answered", "refused", "rate_limited", "server_error", "unreachable", "timed_out", "cut",
    "rejected",
]  # fmt: skip
"""How a call ended. ``cut``: the connection broke, or what came was no answer; ``rejected``: the
request itself was turned down, such as for a wrong key. The provider may have been paid for
``timed_out`` and ``cut``; for what has a status of its own it was not."""

UsageTrust = Literal["reported", "missing", "beyond_bound"]
"""Whether the server's count of tokens is believed: ``missing`` also when it cannot be, such as
no token for a text; ``beyond_bound``: more than the request could hold, counted all the same."""


class ModelCalled(Event):
    """A language model answered, or failed to."""

    area: ClassVar[str] = "models"
    kind: Literal["ModelCalled"] = "ModelCalled"

    role: str
    model: str
    prompt_digest: str
    """Blob with what was sent."""
    reply_digest: str | None
    """Blob with what came back; None without an answer."""
    num_prompt_tokens: int = Field(ge=0)
    num_completion_tokens: int = Field(ge=0)
    usd_micro: int | None
    """None when the price is unknown; unknown is not zero."""
    latency_ms: float
    failure: str | None = None
    reservation_id: str | None = None
    """Reservation that pays; None when nothing was to be paid."""
    round: int = Field(default=1, ge=1)
    """Which request of the question: tools and repairs make further ones."""
    attempt: int = Field(default=1, ge=1)
    """Which attempt at this request, over all models that were asked."""
    outcome: CallOutcome = "answered"
    finish_reason: str = ""
    """Why the model stopped, in the provider's word."""
    usage: UsageTrust = "reported"
    is_replayed: bool = False
    """True when the reply came from a log and no model was asked."""
