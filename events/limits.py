"""Events of limits: constraints and vetoes by the Critic or a human, approvals by a human."""

from typing import ClassVar, Literal

from arbor.events.base import Event
from arbor.events.types import ConstraintScope, LiftCondition


class ConstraintPublished(Event):
    """Something must not be tried until the constraint is lifted."""

    area: ClassVar[str] = "limits"
    kind: Literal["ConstraintPublished"] = "ConstraintPublished"

    constraint_id: str
    scope: ConstraintScope
    reason: str
    evidence: tuple[str, ...] = ()
    """Lines of the log, or figures, that it rests on."""
    lift: LiftCondition = LiftCondition()
    """When the Critic lifts it by itself; a human may at any time."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {"constraints", f"template:{self.scope.template_id}"}


class ConstraintLifted(Event):
    """A constraint is no longer in force."""

    area: ClassVar[str] = "limits"
    kind: Literal["ConstraintLifted"] = "ConstraintLifted"

    constraint_id: str
    reason: str

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {"constraints"}


class ActionVetoed(Event):
    """An action must stop, wherever it is; a keep of it is revoked."""

    area: ClassVar[str] = "limits"
    kind: Literal["ActionVetoed"] = "ActionVetoed"

    reason: str
    by: str
    """``critic``, or ``human`` and a login name after a colon."""
    constraint_id: str | None = None
    """Constraint that it rests on; when that is lifted the veto no longer holds."""


class ActionApproved(Event):
    """A human allowed an action that must not start without."""

    area: ClassVar[str] = "limits"
    kind: Literal["ActionApproved"] = "ActionApproved"

    by: str
    """Login name."""
