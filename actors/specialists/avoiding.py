"""Which points of a search are not worth a start: what is forbidden, and what broke before."""

import math
from collections.abc import Sequence

from arbor.actors.explaining import diagnosed_trial, setting_of
from arbor.actors.specialists.base import Task
from arbor.core.narrowing import narrow_scope
from arbor.core.scopes import Proposal, because, covers
from arbor.core.standing import forbidding
from arbor.events.types import ConstraintScope, Edit, Parameter, ValueRange
from arbor.events.work import TrialCrash


class Avoidance:
    """Constraints in force, and limits that this search has met itself.

    The Critic makes constraints of the same trials in its own time; a search does not wait for it.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._met: list[tuple[int, str, ConstraintScope]] = []

    def note(self, number: int, edits: Sequence[Edit], crash: TrialCrash) -> bool:
        """Remember a trial that broke; return whether more than itself would break again."""
        task = self._task
        if not task.state.settings.search.learn_from_crashes:
            return False
        template_id = task.dispatch.template_id
        found = diagnosed_trial(crash, template_id, tuple(edits))
        setting = setting_of(task.state, template_id, task.dispatch.parent_id, edits)
        scope = None if found.blames_idea else narrow_scope(found, setting)
        if scope is None:
            return False
        self._met.append((number, found.cause, scope))
        return bool(scope.ranges)

    def reason(self, edits: Sequence[Edit]) -> str | None:
        """Return why edits need not be started, or None."""
        task = self._task
        state, dispatch = task.state, task.dispatch
        config = state.tree.config_at(dispatch.parent_id)
        constraint = forbidding(state, dispatch.template_id, edits, config, dispatch.parent_id)
        if constraint is not None:
            return because(constraint)
        proposal = self._proposal(edits)
        for number, cause, scope in self._met:
            if covers(scope, proposal):
                return f"trial {number} broke there: {cause}"
        return None

    def _proposal(self, edits: Sequence[Edit]) -> Proposal:
        state, dispatch, template = self._task.state, self._task.dispatch, self._task.template
        here = setting_of(state, dispatch.template_id, dispatch.parent_id, edits)
        return Proposal(
            template_id=dispatch.template_id,
            edits=edits,
            config=here.before,
            layer=template.layer,
            category=template.category,
            path=frozenset(node.node_id for node in state.tree.path(dispatch.parent_id)),
            hardware=here.hardware,
            software=frozenset(here.software),
        )

    def narrowed(self, space: Sequence[Parameter]) -> tuple[Parameter, ...]:
        """Return a space without the ends that are forbidden, where one number decides."""
        scopes = [scope for _, _, scope in self._met]
        scopes += [each.scope for each in self._task.state.constraints.in_force.values()]
        alone = [
            scope.ranges[0]
            for scope in scopes
            if len(scope.ranges) == 1 and not scope.edits and self._is_here(scope)
        ]
        return tuple(_narrowed(parameter, alone) for parameter in space)

    def _is_here(self, scope: ConstraintScope) -> bool:
        """Return whether a scope would forbid its own bound here."""
        bound = scope.ranges[0]
        value = bound.low if bound.low is not None else bound.high
        return value is not None and covers(
            scope, self._proposal((Edit(key=bound.key, value=value),))
        )


def _narrowed(parameter: Parameter, forbidden: Sequence[ValueRange]) -> Parameter:
    """Return a number without what lies in ranges; as it was when nothing would be left."""
    low, high = parameter.low, parameter.high
    if parameter.kind == "categorical" or low is None or high is None:
        return parameter
    for each in (each for each in forbidden if each.key == parameter.key):
        if each.low is not None and each.high is None:
            high = min(high, _next(parameter, each.low, -1))
        elif each.high is not None and each.low is None:
            low = max(low, _next(parameter, each.high, 1))
    return parameter.model_copy(update={"low": low, "high": high}) if low < high else parameter


def _next(parameter: Parameter, value: float, direction: int) -> float:
    if parameter.kind == "int":
        return value + direction
    return math.nextafter(value, math.inf * direction)
