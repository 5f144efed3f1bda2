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
    draft: int | None = None
    """Draft of a patch that it is about; 0 for the code as it was before."""


class FeedbackRouted(Event):
    """Which feedback about a draft the planner was shown; all of it was collected."""

    area: ClassVar[str] = "work"
    kind: Literal["FeedbackRouted"] = "FeedbackRouted"

    draft: int = Field(ge=0)
    shown: tuple[Literal["debugger", "analyzer", "profiler"], ...]
    rule: str
    """Why these: ``broken``, ``working``, ``known`` or ``forced``."""
    is_summarised: bool = False
    """True when a summary was shown instead."""


class PatchDrafted(Event):
    """A specialist wrote a version of its patch; only new ones are tried."""

    area: ClassVar[str] = "work"
    kind: Literal["PatchDrafted"] = "PatchDrafted"

    node_id: str
    base_commit: str
    draft: int = Field(ge=1)
    diff_digest: str
    """Blob with what the model wrote."""
    change_digest: str
    """Names the change itself, whatever its comments and layout; empty when there is none."""
    paths: tuple[str, ...]
    rejection: str = ""
    """Why it was not tried: it does not apply, changes nothing, or was tried before."""


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


class PatchRefused(Event):
    """The specialist ended without a patch that may be measured: an outcome of its action."""

    area: ClassVar[str] = "work"
    kind: Literal["PatchRefused"] = "PatchRefused"

    node_id: str
    reason: str
    """One line."""
    paths: tuple[str, ...] = ()
    """Files that it must not touch, where that is the reason."""
    diff_digest: str | None = None
    """Blob with the diff that was refused."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"node:{self.node_id}"}


class SpecialistRetired(Event):
    """A specialist ended, with or without a patch."""

    area: ClassVar[str] = "work"
    kind: Literal["SpecialistRetired"] = "SpecialistRetired"

    specialist_id: str
    reason: str
