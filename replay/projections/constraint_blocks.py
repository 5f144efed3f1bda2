"""What each constraint has blocked: proposals, work on its way, trials, keeps."""

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from arbor.actors.rebuilding import unmet_requirement
from arbor.core.scopes import named_in
from arbor.core.standing import forbidding
from arbor.core.state import CampaignState
from arbor.events.base import Event, Recorded
from arbor.events.choice import ActionProposed, ActionWithdrawn
from arbor.events.judgement import KeepRevoked
from arbor.events.limits import ActionVetoed, ConstraintLifted, ConstraintPublished
from arbor.events.outcome import ActionKept, ActionReverted
from arbor.events.types import Edit
from arbor.events.work import TrialMeasured
from arbor.replay.projections.base import PythonProjection

_CHANGES = (ConstraintPublished, ConstraintLifted, ActionKept, KeepRevoked, ActionProposed)
"""After one of these another set of proposals may be forbidden."""
Row = tuple[str, str, str, str | None, int]


class ConstraintBlocks(PythonProjection):
    """What every constraint kept from being proposed, dispatched, started, measured or kept."""

    name: ClassVar[str] = "constraint_blocks"
    columns: ClassVar[Mapping[str, str]] = {
        "constraint_id": "VARCHAR",
        "stage": "VARCHAR",
        "what": "VARCHAR",
        "action_id": "VARCHAR",
        "position": "BIGINT",
    }

    def __init__(self) -> None:
        self._state = CampaignState()
        self._rows: list[Row] = []
        self._proposals: set[tuple[str, str, str]] = set()

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        event = recorded.event
        self._rows += self._stopped(event, recorded.position)
        self._state.apply(recorded)
        if isinstance(event, _CHANGES):
            self._rows += self._unproposed(recorded.position)

    def rows(self) -> Iterable[tuple[object, ...]]:
        """Return what was blocked, in the order of the log."""
        return tuple(self._rows)

    def of(self, constraint_id: str) -> tuple[Row, ...]:
        """Return what one constraint blocked."""
        return tuple(row for row in self._rows if row[0] == constraint_id)

    def _stopped(self, event: Event, position: int) -> Iterator[Row]:
        """Yield what an event says that a constraint stopped; ``_state`` is that before it."""
        match event:
            case TrialMeasured() if (name := named_in(event.avoided)) is not None:
                yield name, "trial", _words(event.edits), event.action_id, position
            case ActionWithdrawn() if (name := _named(event.reason)) is not None:
                yield name, self._stage(event.action_id), *self._told(event, position)
            case ActionVetoed() if event.constraint_id is not None:
                yield (
                    event.constraint_id,
                    self._stage(event.action_id),
                    *self._told(event, position),
                )
            case ActionReverted() if (name := named_in(event.reason)) is not None:
                yield name, "keep", *self._told(event, position)
            case _:
                pass

    def _stage(self, action_id: str | None) -> str:
        action = self._state.tree.actions.get(action_id or "")
        if action is None or action.node_id is None:
            return "dispatch"
        return "kept" if action.outcome is not None else "work"

    def _told(self, event: Event, position: int) -> tuple[str, str | None, int]:
        action = self._state.tree.actions.get(event.action_id or "")
        return action.template_id if action is not None else "", event.action_id, position

    def _unproposed(self, position: int) -> Iterator[Row]:
        """Yield templates that would be candidates at the node in force but for a constraint."""
        state, tree = self._state, self._state.tree
        if not state.constraints.in_force or state.started is None:
            return
        config = tree.config_at(tree.current_id)
        for template in tree.templates.values():
            is_idle = not template.space and all(
                config.get(edit.key) == edit.value for edit in template.edits
            )
            if is_idle or unmet_requirement(template, config) is not None:
                continue
            found = forbidding(
                state,
                template.template_id,
                template.edits,
                config,
                tree.current_id,
                space=template.space,
            )
            key = (found.constraint_id, template.template_id, tree.current_id) if found else None
            if key is not None and key not in self._proposals:
                self._proposals.add(key)
                yield key[0], "proposal", f"{key[1]} on {key[2]}", None, position


def _named(reason: str) -> str | None:
    """Return the constraint that a withdrawal names, also after a keep."""
    return named_in(reason.removeprefix("after a keep: "))


def _words(edits: Iterable[Edit]) -> str:
    return ", ".join(f"{edit.key}={edit.value}" for edit in edits)
