"""Events of limits: constraints and vetoes, by the Critic or a human."""

from typing import ClassVar, Literal

from arbor.events.base import Event
from arbor.events.types import ConstraintScope


class ConstraintPublished(Event):
    """Something must not be tried until the constraint is lifted."""

    area: ClassVar[str] = "limits"
    kind: Literal["ConstraintPublished"] = "ConstraintPublished"

    constraint_id: str
    scope: ConstraintScope
    reason: str

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
    """``critic`` or ``human``."""
