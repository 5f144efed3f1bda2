"""The config specialist: typed edits, checked by starting the server once."""

from arbor.actors.specialists.base import Task
from arbor.events.types import Edit


class ConfigCraft:
    """Applies the catalog's edits and checks that the stack starts and serves."""

    skills: tuple[str, ...] = ("serve.yaml", "start and smoke test")

    def plan(self, task: Task) -> tuple[str, ...]:
        """Return what will be done."""
        edits = ", ".join(f"{e.key}={e.value}" for e in task.dispatch.edits)
        steps = (f"set {edits}", "start the server and play one window", "propose the commit")
        return steps if task.place.has_smoke_test() else (steps[0], steps[-1])

    def work(self, task: Task) -> tuple[tuple[Edit, ...], str]:
        """Return the edits and what the smoke test saw.

        Raises:
            ServerFailedError: the server failed.
            CancelledError: the action is not wanted any more.
        """
        edits = task.dispatch.edits
        if not task.place.has_smoke_test():
            return edits, "not started before it is measured"
        sample = task.screen(edits, is_smoke_test=True)
        task.record_trial(1, edits, "none", sample)
        return edits, f"served {sample.num_completed} requests, {sample.num_failed} failed"
