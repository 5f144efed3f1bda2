"""The tuning specialist: black-box search over the numbers inside one action."""

from arbor.actors.specialists.base import Task
from arbor.events.types import Edit
from arbor.search.engine import Engine, create_engine
from arbor.search.grid import every_point
from arbor.targets.base import ServerFailedError


class TuningCraft:
    """Screens points of the action's space and proposes the best."""

    skills: tuple[str, ...] = ("serve.yaml", "black-box search")

    def plan(self, task: Task) -> tuple[str, ...]:
        """Return what will be done."""
        keys = ", ".join(p.key for p in task.template.space)
        num = task.state.settings.search.tuning_trials
        return (
            f"search {keys} with {_engine_name(task)}, at most {num} screening trials",
            "propose the commit of the best point",
        )

    def work(self, task: Task) -> tuple[tuple[Edit, ...], str]:
        """Return the best edits found and what the screening saw.

        Trials recorded by an earlier attempt are told to the engine, not run again.

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
        if points := every_point(space, num_trials):
            first = tuple(dict.fromkeys((*first, *points)))
            num_trials = len(points)
        engine = create_engine(
            _engine_name(task), space, task.state.settings.seed, first, budget=num_trials
        )
        done = task.state.trials.get(task.dispatch.node_id, [])
        last_error: ServerFailedError | None = None
        for number in range(1, num_trials + 1):
            point = engine.ask()
            if number <= len(done):
                recorded = done[number - 1]
                engine.tell(
                    tuple(e for e in recorded.edits if e.key in keys), recorded.throughput_tok_s
                )
                continue
            last_error = self._trial(task, engine, number, fixed, point) or last_error
        best = engine.best()
        if best is None:
            raise last_error or ServerFailedError("screening", "no point of the space worked")
        return (*fixed, *best), f"best of {num_trials} points"

    def _trial(
        self,
        task: Task,
        engine: Engine,
        number: int,
        fixed: tuple[Edit, ...],
        point: tuple[Edit, ...],
    ) -> ServerFailedError | None:
        edits = (*fixed, *point)
        try:
            sample = task.screen(edits)
        except ServerFailedError as error:
            engine.tell(point, None)
            task.record_trial(number, edits, _engine_name(task), None, error.message)
            return error
        value = sample.throughput_tok_s if sample.num_failed == 0 else None
        engine.tell(point, value)
        task.record_trial(number, edits, _engine_name(task), sample)
        return None


def _engine_name(task: Task) -> str:
    """Return the engine that the Orchestrator chose for the action."""
    return task.state.routes[task.dispatch.action_id or ""].engine
