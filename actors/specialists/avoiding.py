"""Which points of a search are not worth a start: what is forbidden, and what broke before."""

from collections.abc import Iterable, Sequence

from arbor.actors.explaining import diagnosed_trial, setting_of
from arbor.actors.specialists.base import Task
from arbor.core.narrowing import narrow_scope
from arbor.core.scopes import Proposal, because, covers
from arbor.core.standing import forbidding
from arbor.events.types import ConstraintScope, Edit
from arbor.events.work import TrialCrash, TrialMeasured


class Avoidance:
    """Constraints in force, and limits that this search has met itself.

    The Critic makes constraints of the same trials in its own time; a search does not wait for it.
    """

    def __init__(self, task: Task, done: Iterable[TrialMeasured]) -> None:
        self._task = task
        self._met: list[tuple[int, str, ConstraintScope]] = []
        for trial in done:
            if trial.crash is not None:
                self.note(trial.trial, trial.edits, trial.crash)

    def note(self, number: int, edits: Sequence[Edit], crash: TrialCrash) -> None:
        """Remember a trial that broke, where the same would break again."""
        task = self._task
        if not task.state.settings.search.learn_from_crashes:
            return
        template_id = task.dispatch.template_id
        found = diagnosed_trial(crash, template_id, tuple(edits))
        setting = setting_of(task.state, template_id, task.dispatch.parent_id, edits)
        scope = None if found.blames_idea else narrow_scope(found, setting)
        if scope is not None:
            self._met.append((number, found.cause, scope))

    def reason(self, edits: Sequence[Edit]) -> str | None:
        """Return why edits need not be started, or None."""
        task = self._task
        state, dispatch = task.state, task.dispatch
        config = state.tree.config_at(dispatch.parent_id)
        constraint = forbidding(state, dispatch.template_id, edits, config, dispatch.parent_id)
        if constraint is not None:
            return because(constraint)
        here = setting_of(state, dispatch.template_id, dispatch.parent_id, edits)
        proposal = Proposal(
            template_id=dispatch.template_id,
            edits=edits,
            config=config,
            hardware=here.hardware,
            software=frozenset(here.software),
        )
        for number, cause, scope in self._met:
            if covers(scope, proposal):
                return f"trial {number} broke there: {cause}"
        return None
