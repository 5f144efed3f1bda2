"""The tuning specialist: black-box search over the numbers inside one action."""

from collections.abc import Sequence

from arbor.actors.specialists.avoiding import Avoidance
from arbor.actors.specialists.base import Task
from arbor.events.types import Edit, Parameter
from arbor.events.work import TrialCrash, TrialMeasured
from arbor.search.engine import create_engine
from arbor.search.grid import every_point
from arbor.search.space import Space
from arbor.targets.base import ServerFailedError

MAX_ASKED_RATIO = 4
"""Points asked for, over trials that may be started: what is avoided costs a number alone."""


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
        done = tuple(task.state.trials.get(task.dispatch.node_id, ()))
        search = _Search(task, self._engine_name, fixed, first)
        while search.num_started < num_trials and search.num_asked < max_asked:
            search.step(done)
        best = search.best()
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
        engine_name: str,
        fixed: tuple[Edit, ...],
        first: Sequence[tuple[Edit, ...]],
    ) -> None:
        self.num_asked = 0
        self.num_started = 0
        self.last_error: ServerFailedError | None = None
        self._task = task
        self._engine_name = engine_name
        self._fixed = fixed
        self._avoidance = Avoidance(task)
        self._space = self._avoidance.narrowed(task.template.space)
        self._told: list[tuple[tuple[Edit, ...], float | None]] = []
        own = [point for point in first if _lies_in(self._space, point)]
        self._engine = create_engine(engine_name, self._space, task.state.settings.seed, own)

    def best(self) -> tuple[Edit, ...] | None:
        """Return the best point of all trials; None when none worked."""
        worked = [(value, point) for point, value in self._told if value is not None]
        return max(worked, key=lambda each: each[0])[1] if worked else None

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
        self._tell(told, recorded.throughput_tok_s)
        if recorded.crash is not None:
            self._learn(recorded.edits, recorded.crash)

    def _try(self, point: tuple[Edit, ...]) -> None:
        task, number, edits = self._task, self.num_asked, (*self._fixed, *point)
        task.check_wanted()
        reason = self._avoidance.reason(edits)
        if reason is not None:
            self._tell(point, None)
            task.record_avoided_trial(number, edits, self._engine_name, reason)
            return
        self.num_started += 1
        try:
            sample = task.screen(edits)
        except ServerFailedError as error:
            self.last_error = error
            self._tell(point, None)
            self._learn(edits, task.record_broken_trial(number, edits, self._engine_name, error))
            return
        self._tell(point, sample.throughput_tok_s if sample.num_failed == 0 else None)
        task.record_trial(number, edits, self._engine_name, sample)

    def _tell(self, point: tuple[Edit, ...], value: float | None) -> None:
        self._told.append((point, value))
        if _lies_in(self._space, point):
            # a constraint may have come since an earlier attempt tried it
            self._engine.tell(point, value)

    def _learn(self, edits: tuple[Edit, ...], crash: TrialCrash) -> None:
        """Leave out what would break as well, and search on in what is left of the space."""
        if not self._avoidance.note(self.num_asked, edits, crash):
            return
        space = self._avoidance.narrowed(self._space)
        if space == self._space:
            return
        self._space = space
        # another seed: the same one would ask for what was asked for already
        seed = self._task.state.settings.seed + self.num_asked
        self._engine = create_engine(self._engine_name, space, seed)
        for point, value in self._told:
            if value is not None and _lies_in(space, point):
                self._engine.tell(point, value)

    def words(self) -> str:
        """Return what was tried."""
        num_avoided = self.num_asked - self.num_started
        spared = f", {num_avoided} more not started" if num_avoided else ""
        return f"best of {self.num_started} points{spared}"


def _lies_in(space: Sequence[Parameter], point: Sequence[Edit]) -> bool:
    try:
        Space.of(space).check(tuple(point))
    except ValueError:
        return False
    return True
