"""Constraints, vetoes and approvals as a fold."""

from dataclasses import dataclass, field

from arbor.core.scopes import Proposal, covers
from arbor.events.base import Recorded
from arbor.events.limits import (
    ActionApproved,
    ActionVetoed,
    ConstraintLifted,
    ConstraintPublished,
)
from arbor.events.outcome import ActionKept
from arbor.events.types import ConstraintScope, ValueRange


@dataclass(slots=True)
class Constraints:
    """Constraints in force, actions that were vetoed, and actions that were approved."""

    in_force: dict[str, ConstraintPublished] = field(default_factory=dict)
    vetoed: dict[str, list[ActionVetoed]] = field(default_factory=dict)
    """Action to all of its vetoes, whether they still hold or not."""
    approved: dict[str, str] = field(default_factory=dict)
    """Action to the login name of who approved it."""
    num_published: int = 0
    keeps_before: dict[str, int] = field(default_factory=dict)
    """Constraint to the keeps of the campaign before it was published."""
    causes: set[str] = field(default_factory=set)
    """Events that constraints, in force or not, were published because of."""
    num_lifted: dict[ConstraintScope, int] = field(default_factory=dict)
    """Subject of a scope, without its bounds, to how often a constraint on it was lifted."""
    lifted_at_keep: dict[ConstraintScope, int] = field(default_factory=dict)
    """Subject of a scope to the keeps of the campaign before a constraint on it was lifted."""
    lifted: set[str] = field(default_factory=set)
    """Constraints that were lifted and not published again."""
    kept: list[str] = field(default_factory=list)
    """Actions of all keeps so far, revoked ones too, in order."""

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        match recorded.event:
            case ConstraintPublished() as event:
                self._publish(event)
            case ConstraintLifted() as event:
                self._lift(event.constraint_id)
            case ActionKept() as event:
                self.kept.append(event.action_id or "")
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

    def blocking(self, proposal: Proposal) -> ConstraintPublished | None:
        """Return the oldest constraint in force that forbids a proposal, if any."""
        return next((c for c in self.in_force.values() if covers(c.scope, proposal)), None)

    def times_lifted(self, scope: ConstraintScope) -> int:
        """Return how often a constraint on the same subject was lifted, whatever its bounds."""
        return self.num_lifted.get(subject_of(scope), 0)

    def keeps_since(self, constraint: ConstraintPublished) -> list[str]:
        """Return the actions kept since a constraint was published.

        Of several on one subject one is lifted at a time: for the others it counts from then.
        """
        lifted_at = self.lifted_at_keep.get(subject_of(constraint.scope), 0)
        return self.kept[max(lifted_at, self.keeps_before[constraint.constraint_id]) :]

    def _publish(self, event: ConstraintPublished) -> None:
        self.in_force[event.constraint_id] = event
        self.lifted.discard(event.constraint_id)
        self.num_published += 1
        self.keeps_before[event.constraint_id] = len(self.kept)
        if event.causation_id is not None:
            self.causes.add(event.causation_id)

    def _lift(self, constraint_id: str) -> None:
        ended = self.in_force.pop(constraint_id, None)
        if ended is not None:
            subject = subject_of(ended.scope)
            self.num_lifted[subject] = self.num_lifted.get(subject, 0) + 1
            self.lifted_at_keep[subject] = len(self.kept)
            self.lifted.add(constraint_id)


def subject_of(scope: ConstraintScope) -> ConstraintScope:
    """Return what a scope is about, without the context and the bounds of its ranges."""
    ranges = tuple(ValueRange(key=each.key) for each in scope.ranges)
    return scope.model_copy(update={"ranges": ranges, "context": ()})
