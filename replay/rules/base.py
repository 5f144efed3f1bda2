"""What every rule of the audit gets and gives."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from arbor.core.layout import CampaignDirectory
from arbor.core.reactor import Fold
from arbor.core.state import CampaignState
from arbor.events.base import Recorded
from arbor.events.errors import ArborError
from arbor.events.log import Head

RELATIVE_TOLERANCE = 1e-9
"""Recomputed numbers may differ by this much: mathematical libraries round differently."""


class UnfoldableError(ArborError):
    """An event contradicts those before it so much that no state can be made of it.

    Attributes:
        position: its position.
        text: what is wrong.
    """

    def __init__(self, position: int, text: str) -> None:
        super().__init__(position, text)
        self.position = position
        self.text = text


@dataclass(frozen=True, slots=True)
class AuditProblem:
    """Something that a rule does not accept.

    Attributes:
        position: event that shows it; 0 when it is no event.
        text: what is wrong, in one line.
    """

    position: int
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What rules look at: the whole campaign.

    Attributes:
        directory: names of its parts.
        events: the whole log in order.
        anchors: heads noted earlier that the log must still contain.
    """

    directory: CampaignDirectory
    events: tuple[Recorded, ...] = ()
    anchors: tuple[Head, ...] = ()

    def walk(self) -> Iterator[tuple[Recorded, CampaignState]]:
        """Yield every event with the state before it.

        Raises:
            UnfoldableError: the state cannot follow.
        """
        state = CampaignState()
        for recorded in self.events:
            yield recorded, state
            fold(state, recorded)


@dataclass(slots=True)
class Findings:
    """What a rule found: how much it checked, every problem, and what a reader must know."""

    num_checked: int = 0
    problems: list[AuditProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def require(self, holds: bool, position: int, text: str) -> None:
        """Note one check, and a problem when it does not hold."""
        self.num_checked += 1
        if not holds:
            self.problems.append(AuditProblem(position, text))


class Rule(Protocol):
    """One rule; ``title`` completes the sentence "it was checked that"."""

    name: str
    title: str

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Look at the campaign and note what was found.

        Raises:
            UnfoldableError: an event contradicts those before it.
        """
        ...


def fold(target: Fold, recorded: Recorded) -> None:
    """Apply an event, or say where the log contradicts itself.

    Raises:
        UnfoldableError: the fold cannot follow.
    """
    try:
        target.apply(recorded)
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        kind = recorded.event.kind
        raise UnfoldableError(
            recorded.position, f"{kind} contradicts the events before it ({error!r})"
        ) from error


def is_close(a: float, b: float) -> bool:
    """Return whether two numbers are equal up to rounding."""
    return math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)


def difference(expected: Any, found: Any, where: str = "") -> str | None:
    """Return the first place where two JSON values differ by more than rounding, or None."""
    if isinstance(expected, float) and isinstance(found, float | int):
        return None if is_close(expected, found) else f"{where}: {found!r} is not {expected!r}"
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            inside = f"{where}.{key}" if where else str(key)
            if (text := difference(expected.get(key), found.get(key), inside)) is not None:
                return text
        return None
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (left, right) in enumerate(zip(expected, found, strict=True)):
            if (text := difference(left, right, f"{where}[{number}]")) is not None:
                return text
        return None
    return None if expected == found else f"{where}: {found!r} is not {expected!r}"
