"""Events of knowledge: what was imported and what was learned."""

from typing import ClassVar, Literal

from arbor.events.base import Event


class KnowledgeImported(Event):
    """A prior came from another campaign's log."""

    area: ClassVar[str] = "knowledge"
    kind: Literal["KnowledgeImported"] = "KnowledgeImported"

    template_id: str
    source_campaign_id: str
    source_digest: str
    speedup_ratio: float
    num_observations: int


class LessonRecorded(Event):
    """The Critic wrote down what an outcome teaches."""

    area: ClassVar[str] = "knowledge"
    kind: Literal["LessonRecorded"] = "LessonRecorded"

    template_id: str
    lesson: str
