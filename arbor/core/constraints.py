"""Constraints, vetoes and approvals as a fold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arbor.events.base import Recorded
from arbor.events.limits import (
    ActionApproved,
    ActionVetoed,
    ConstraintLifted,
    ConstraintPublished,
)
from arbor.events.types import Edit, Scalar


def _holds(edits: Sequence[Edit], config: Mapping[str, Scalar]) -> bool:
    return all(config.get(edit.key) == edit.value for edit in edits)


@dataclass(slots=True)
class Constraints:
    """Constraints in force, actions that were vetoed, and actions that were approved."""

    in_force: dict[str, ConstraintPublished] = field(default_factory=dict)
    vetoed: dict[str, list[ActionVetoed]] = field(default_factory=dict)
    """Action to all of its vetoes, whether they still hold or not."""
    approved: dict[str, str] = field(default_factory=dict)
    """Action to the login name of who approved it."""
    num_published: int = 0

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        match recorded.event:
            case ConstraintPublished() as event:
                self.in_force[event.constraint_id] = event
                self.num_published += 1
            case ConstraintLifted() as event:
                self.in_force.pop(event.constraint_id, None)
            case ActionVetoed() as event if event.action_id:
                self.vetoed.setdefault(event.action_id, []).append(event)
            case ActionApproved() as event if event.action_id:
                self.approved[event.action_id] = event.by
            case _:
                pass

    def ban(self, action_id: str | None) -> ActionVetoed | None:
        """Return the first veto of an action that holds, or None.

        A veto that rests on a constraint holds as long as the constraint is in force.
        """
        for veto in self.vetoed.get(action_id or "", ()):
            if veto.constraint_id is None or veto.constraint_id in self.in_force:
                return veto
        return None

    def blocking(
        self, template_id: str, edits: Sequence[Edit], config: Mapping[str, Scalar]
    ) -> ConstraintPublished | None:
        """Return a constraint that forbids ``edits`` of a template on ``config``, if any."""
        proposed = {edit.key: edit.value for edit in edits}
        for constraint in self.in_force.values():
            scope = constraint.scope
            if (
                scope.template_id == template_id
                and _holds(scope.edits, proposed)
                and _holds(scope.context, config)
            ):
                return constraint
        return None
