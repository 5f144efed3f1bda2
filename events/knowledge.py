"""Events of knowledge: what was imported and what was learned."""

from typing import ClassVar, Literal

from pydantic import Field

from arbor.events.base import Event
from arbor.events.types import Edit


class KnowledgeImported(Event):
    """A belief about a template came from another campaign's log."""

    area: ClassVar[str] = "knowledge"
    kind: Literal["KnowledgeImported"] = "KnowledgeImported"

    template_id: str
    source_campaign_id: str
    source_digest: str
    """Chain digest at the end of the log that it was learned from."""
    speedup_ratio: float = Field(gt=0)
    """Speed-up of the touched share, shrunk."""
    num_observations: int = Field(ge=0)
    """Effects that were measured."""
    log_gain_sd: float = Field(default=0.1, ge=0)
    """Deviation of what is believed about the log of the whole stack's gain."""
    transfer_ratio: float = Field(default=1.0, ge=0, le=1)
    """Prior probability that what was seen there holds here: it falls with the distance."""
    num_tries: int = Field(default=0, ge=0)
    num_crashed: int = Field(default=0, ge=0)
    """Tries that crashed through the idea's own fault."""
    num_inexact: int = Field(default=0, ge=0)
    """Tries that failed the accuracy gate."""
    source_hardware: str = ""
    source_model_family: str = ""
    source_workload: str = ""


class StackImported(Event):
    """What another campaign's stack ended with; it may be tried here as one action."""

    area: ClassVar[str] = "knowledge"
    kind: Literal["StackImported"] = "StackImported"

    source_campaign_id: str
    source_digest: str
    """Chain digest at the end of the log that it was found in."""
    template_ids: tuple[str, ...]
    """Templates of this campaign's catalog that it is made of, in their order there."""
    edits: tuple[Edit, ...]
    """What differs from the baseline, as those templates can set it."""
    ratio: float = Field(gt=0)
    """Gain to expect: the low end of the source's claim, or the root of what it estimated."""
    transfer_ratio: float = Field(ge=0, le=1)
    """Prior probability that what was seen there holds here."""


class LessonRecorded(Event):
    """The Critic wrote down what an outcome teaches."""

    area: ClassVar[str] = "knowledge"
    kind: Literal["LessonRecorded"] = "LessonRecorded"

    template_id: str
    lesson: str
