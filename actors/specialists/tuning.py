"""The tuning specialist: black-box search over the numbers inside one action."""

from arbor.actors.specialists.avoiding import Avoidance
from arbor.actors.specialists.base import Task
from arbor.events.types import Edit
from arbor.events.work import TrialMeasured
from arbor.search.engine import Engine, create_engine
from arbor.search.grid import every_point
from arbor.targets.base import ServerFailedError

MAX_ASKED_RATIO = 4
"""Points asked for, over trials that may be started: what is avoided costs nothing but a number."""


class TuningCraft:
    """Screens points of the action's space and proposes the best."""

    skills: tuple[str, ...] = ("serve.yaml", "black-box search")

    def __init__(self, engine_name: str = "tpe") -> None:
        self._engine_name = engine_name

    def plan(self, task: Task) -> tuple[str, ...]:
        """Return what will be done."""
        keys = ", ".join(p.key for p in task.template.space)
        num = task.state.settings.search.tuning_trials
        return (
            f"search {keys} with {self._engine_name}, at most {num} screening trials",
            "propose the commit of the best point",
        )

    def work(self, task: Task) -> tuple[tuple[Edit, ...], str]:
        """Return the best edits found and what the screening saw.

        Trials recorded by an earlier attempt are told to the engine, not run again. Points that a
        constraint forbids, or that lie beyond a trial that ran out of something, are not started.

        Raises:
            ServerFailedError: no point worked.
            CancelledError: the action is not wanted any more.
        """
        space = task.template.space
        keys = {p.key for p in space}
        fixed = tuple(e for e in task.dispatch.edits if e.key not in keys)
        suggested = tuple(e for e in task.dispatch.edits if e.key in keys)
        first = (suggested,) if [e.key for e in suggested] == [p.key for p in space] else ()
        num_trials = task.state.settings.search.tuning_trials
        max_asked = MAX_ASKED_RATIO * num_trials
        if points := every_point(space, num_trials):
            first = tuple(dict.fromkeys((*first, *points)))
            num_trials = max_asked = len(points)
        engine = create_engine(self._engine_name, space, task.state.settings.seed, first)
        done = tuple(task.state.trials.get(task.dispatch.node_id, ()))
        search = _Search(task, engine, self._engine_name, fixed, Avoidance(task, done))
        while search.num_started < num_trials and search.num_asked < max_asked:
            search.step(done)
        best = engine.best()
        if best is None:
            raise search.last_error or ServerFailedError(
                "screening", "no point of the space worked"
            )
        return (*fixed, *best), search.words()


class _Search:
    """One search on its way.

    Attributes:
        num_asked: points that the engine gave.
        num_started: those of them that were started.
        last_error: how the latest trial that broke did.
    """

    def __init__(
        self,
        task: Task,
        engine: Engine,
        engine_name: str,
        fixed: tuple[Edit, ...],
        avoidance: Avoidance,
    ) -> None:
        self.num_asked = 0
        self.num_started = 0
        self.last_error: ServerFailedError | None = None
        self._task = task
        self._engine = engine
        self._engine_name = engine_name
        self._fixed = fixed
        self._avoidance = avoidance

    def step(self, done: tuple[TrialMeasured, ...]) -> None:
        """Ask for a point and tell its value: from an earlier attempt, or from a trial now."""
        point = self._engine.ask()
        self.num_asked += 1
        if self.num_asked > len(done):
            self._try(point)
            return
        recorded = done[self.num_asked - 1]
        self.num_started += not recorded.avoided
        keys = {edit.key for edit in point}
        told = tuple(edit for edit in recorded.edits if edit.key in keys)
        self._engine.tell(told, recorded.throughput_tok_s)

    def _try(self, point: tuple[Edit, ...]) -> None:
        task, number, edits = self._task, self.num_asked, (*self._fixed, *point)
        task.check_wanted()
        reason = self._avoidance.reason(edits)
        if reason is not None:
            self._engine.tell(point, None)
            task.record_avoided_trial(number, edits, self._engine_name, reason)
            return
        self.num_started += 1
        try:
            sample = task.screen(edits)
        except ServerFailedError as error:
            self.last_error = error
            self._engine.tell(point, None)
            crash = task.record_broken_trial(number, edits, self._engine_name, error)
            self._avoidance.note(number, edits, crash)
            return
        self._engine.tell(point, sample.throughput_tok_s if sample.num_failed == 0 else None)
        task.record_trial(number, edits, self._engine_name, sample)

    def words(self) -> str:
        """Return what was tried."""
        num_avoided = self.num_asked - self.num_started
        spared = f", {num_avoided} more not started" if num_avoided else ""
        return f"best of {self.num_started} points{spared}"
