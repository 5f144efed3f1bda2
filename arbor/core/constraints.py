"""Constraints and vetoes as a fold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arbor.events.base import Recorded
from arbor.events.limits import ActionVetoed, ConstraintLifted, ConstraintPublished
from arbor.events.types import Edit, Scalar


def _holds(edits: Sequence[Edit], config: Mapping[str, Scalar]) -> bool:
    return all(config.get(edit.key) == edit.value for edit in edits)


@dataclass(slots=True)
class Constraints:
    """Constraints in force and actions that were vetoed."""

    in_force: dict[str, ConstraintPublished] = field(default_factory=dict)
    vetoed: dict[str, str] = field(default_factory=dict)
    """Action to the reason of its veto."""
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
                self.vetoed[event.action_id] = event.reason
            case _:
                pass

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
