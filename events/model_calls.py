"""Events of calls to language models."""

from typing import ClassVar, Literal

from pydantic import Field

from arbor.events.base import Event


class ModelCalled(Event):
    """A language model answered, or failed to."""

    area: ClassVar[str] = "models"
    kind: Literal["ModelCalled"] = "ModelCalled"

    role: str
    model: str
    prompt_digest: str
    reply_digest: str | None
    num_prompt_tokens: int = Field(ge=0)
    num_completion_tokens: int = Field(ge=0)
    usd_micro: int | None
    """None when the price is unknown; unknown is not zero."""
    latency_ms: float
    failure: str | None = None
