"""Events of specialists at work."""

from typing import ClassVar, Literal

from pydantic import Field

from arbor.events.base import Event
from arbor.events.causes import HostFacts, LogLine
from arbor.events.types import Edit, Layer, Value


class SpecialistConstructed(Event):
    """A specialist was built for an action."""

    area: ClassVar[str] = "work"
    kind: Literal["SpecialistConstructed"] = "SpecialistConstructed"

    specialist_id: str
    layer: Layer
    skills: tuple[str, ...]
    """Names of the skills it was given."""
    placement: str
    """Placement group or place that it works in."""


class AttemptStarted(Event):
    """Work on an action or a request began; an earlier attempt without a result is stale."""

    area: ClassVar[str] = "work"
    kind: Literal["AttemptStarted"] = "AttemptStarted"

    attempt: int = Field(ge=1)
    request_id: str | None = None
    """Request that the attempt answers; None for a specialist's work."""
    remedies: tuple[str, ...] = ()
    """What was cleaned first because the attempt before met a fault of the environment."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        own = {f"request:{self.request_id}"} if self.request_id else set()
        return super().tags() | own


class FeedbackCollected(Event):
    """A tool said something about the work."""

    area: ClassVar[str] = "work"
    kind: Literal["FeedbackCollected"] = "FeedbackCollected"

    source: Literal["debugger", "analyzer", "profiler"]
    summary: str
    blob_digest: str | None = None


class PlanProposed(Event):
    """The specialist said what it will do."""

    area: ClassVar[str] = "work"
    kind: Literal["PlanProposed"] = "PlanProposed"

    steps: tuple[str, ...]


class TrialCrash(Value):
    """What a screening trial that broke left behind."""

    phase: str
    message: str
    """One line."""
    exit_code: int | None = None
    signal: int | None = None
    log_excerpt: tuple[LogLine, ...] = ()
    """Telling lines of the server's log."""
    host_facts: HostFacts = HostFacts()


class TrialMeasured(Event):
    """A screening trial ended; screening is never evidence for a keep."""

    area: ClassVar[str] = "work"
    kind: Literal["TrialMeasured"] = "TrialMeasured"

    trial: int = Field(ge=1)
    edits: tuple[Edit, ...]
    throughput_tok_s: float | None
    """None when the trial failed."""
    failure: str | None = None
    engine: str
    """Search engine that asked for the trial."""
    crash: TrialCrash | None = None
    """How it broke, where it was started and did."""
    avoided: str = ""
    """Why it was not even started: a constraint, or a trial before it; empty: it was started."""


class PatchProposed(Event):
    """A specialist finished: a commit that is ready to be measured."""

    area: ClassVar[str] = "work"
    kind: Literal["PatchProposed"] = "PatchProposed"

    node_id: str
    base_commit: str
    commit: str
    edits: tuple[Edit, ...]
    diff_digest: str
    """Blob with the unified diff."""
    validation: str
    """What the specialist saw in its own local check."""


class SpecialistRetired(Event):
    """A specialist ended, with or without a patch."""

    area: ClassVar[str] = "work"
    kind: Literal["SpecialistRetired"] = "SpecialistRetired"

    specialist_id: str
    reason: str
