"""Events of judgement, appended by the Critic."""

from typing import ClassVar, Literal

from arbor.events.base import Event
from arbor.events.causes import CauseGroup, CauseLayer, Fault, RemedyStep
from arbor.events.types import ReviveCondition

Merit = Literal[
    "none", "needs_keep", "bottleneck", "dead_code", "other_workload", "limit", "implementation"
]
"""Why an idea that failed may be worth another try.

``none``: nothing that can be measured would change its outcome. ``needs_keep``: once something
else is kept. ``bottleneck``: when its category takes more of the time. ``dead_code``: when the
code that it changes runs. ``other_workload``: where a workload is not guarded. ``limit``: when a
constraint is lifted. ``implementation``: built in another way.
"""


class MeasurementFlagged(Event):
    """A guardrail spoke about a measurement."""

    area: ClassVar[str] = "judgement"
    kind: Literal["MeasurementFlagged"] = "MeasurementFlagged"

    request_id: str
    rule: str
    severity: Literal["invalid", "suspect", "note"]
    evidence: str


class MeasurementJudged(Event):
    """The Critic accepted a measurement, or not: the second key of a keep."""

    area: ClassVar[str] = "judgement"
    kind: Literal["MeasurementJudged"] = "MeasurementJudged"

    request_id: str
    purpose: Literal["accuracy", "benchmark", "revalidation", "soak"]
    is_accepted: bool
    reason: str
    unobserved_rules: tuple[str, ...] = ()
    """Guardrails that nothing was measured for: they neither spoke nor held."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"request:{self.request_id}"}


class RootCauseFound(Event):
    """Why something crashed, and whether the idea is to blame."""

    area: ClassVar[str] = "judgement"
    kind: Literal["RootCauseFound"] = "RootCauseFound"

    cause: str
    cause_group: CauseGroup
    blames_idea: bool
    evidence: tuple[str, ...]
    """Lines of the log that support the cause."""
    confidence_ratio: float
    remedy: str
    """One line for people."""
    fault: Fault = "unknown"
    layer: CauseLayer = ""
    evidence_line_numbers: tuple[int, ...] = ()
    """Of each line of the evidence, in the log; 0 for what did not come from it."""
    step: RemedyStep = "none"
    """What Arbor does before it repeats the attempt."""

    @property
    def is_worth_repeating(self) -> bool:
        """True when the same attempt may work once the place is clean."""
        return self.fault == "environment" and self.step != "none"


class OpinionRecorded(Event):
    """What a language model thinks of a crash: for people and briefs; it decides nothing."""

    area: ClassVar[str] = "judgement"
    kind: Literal["OpinionRecorded"] = "OpinionRecorded"

    text: str
    """Its words; empty when there was no answer."""
    failure: str = ""
    """Why there was no answer."""


class IntrospectionRecorded(Event):
    """Whether a reverted or crashed idea keeps merit elsewhere."""

    area: ClassVar[str] = "judgement"
    kind: Literal["IntrospectionRecorded"] = "IntrospectionRecorded"

    template_id: str
    revive: ReviveCondition
    reasoning: str
    merit: tuple[Merit, ...] = ()
    """Kinds of conditions under which it would be worth another try; empty: it was not asked."""


class KeepRevoked(Event):
    """A keep no longer holds; descendants are suspended."""

    area: ClassVar[str] = "judgement"
    kind: Literal["KeepRevoked"] = "KeepRevoked"

    node_id: str
    reason: str

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"node:{self.node_id}"}
