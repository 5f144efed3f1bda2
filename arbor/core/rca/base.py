"""What a diagnosis is made from, what it says, and the form of a rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arbor.events.causes import CauseGroup, CauseLayer, Fault, HostFacts, LogLine, RemedyStep
from arbor.events.types import Edit

if TYPE_CHECKING:
    from arbor.core.rca.record import Record

MAX_EVIDENCE_LINES = 4


@dataclass(frozen=True, slots=True)
class Precedent:
    """Something else that broke in the same campaign.

    Attributes:
        cause: what it was put down to.
        template_id: the idea; None where the incumbent broke.
    """

    cause: str
    template_id: str | None


@dataclass(frozen=True, slots=True)
class Incident:
    """All that is known about a broken attempt.

    Attributes:
        lines: the log, or the telling part of it.
        message: one line of whoever saw it break.
        phase: what was being done.
        exit_code: exit code of the program, when it ended by itself.
        signal: number of the signal that ended it.
        template_id: the idea that was tried; None for the incumbent.
        edits: what the attempt changed in the configuration.
        patch_files: files that the attempt changed.
        facts: the host as it was then.
        precedents: what else broke in the campaign, in order.
    """

    lines: tuple[LogLine, ...] = ()
    message: str = ""
    phase: str = ""
    exit_code: int | None = None
    signal: int | None = None
    template_id: str | None = None
    edits: tuple[Edit, ...] = ()
    patch_files: tuple[str, ...] = ()
    facts: HostFacts = field(default_factory=HostFacts)
    precedents: tuple[Precedent, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why something broke.

    Attributes:
        cause: the class of errors.
        group: the family that the class belongs to.
        layer: layer of the stack in which it broke; empty when that is not known.
        fault: whose it is: ``idea`` means that the same idea would fail here again however it is
            built, ``implementation`` that another way to build it may work, ``environment`` that
            the same attempt may work on a clean place.
        confidence_ratio: how far the rule is to be believed.
        remedy: one line for people.
        step: what Arbor itself does before the attempt is repeated.
        evidence: lines that the cause rests on, with their numbers in the log.
    """

    cause: str
    group: CauseGroup
    layer: CauseLayer
    fault: Fault
    confidence_ratio: float
    remedy: str
    step: RemedyStep = "none"
    evidence: tuple[LogLine, ...] = ()

    @property
    def blames_idea(self) -> bool:
        """True when trying the same thing here again would fail again."""
        return self.fault == "idea"


Find = Callable[["Record"], Sequence[LogLine]]
"""Returns the lines that speak for a rule; none when it does not hold."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One class of errors: how it is told, and what it means.

    Attributes:
        find: returns the lines that speak for it.
        step: what Arbor does before it repeats the attempt.
        layer: empty when the frames of the exception tell it.
    """

    cause: str
    group: CauseGroup
    layer: CauseLayer
    fault: Fault
    remedy: str
    find: Find
    confidence_ratio: float = 0.9
    step: RemedyStep = "none"
