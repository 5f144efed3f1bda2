"""`arbor kernels tasks`: candidates of task files, and fast_p at native and shrunk sizes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.cli.console import say
from arbor.events.errors import InvalidInputError

if TYPE_CHECKING:
    from arbor.kernels.tasks.fast_p import TaskOutcome


def task_pairs(tasks: Sequence[Path], candidates: Path) -> list[tuple[Path, Path]]:
    """Return each task with the file of its name in the candidates' folder.

    Raises:
        InvalidInputError: a task has no candidate.
    """
    for task in tasks:
        if not (candidates / task.name).is_file():
            raise InvalidInputError(f"{task} has no candidate; write {candidates / task.name}")
    return [(task, candidates / task.name) for task in tasks]


def run_tasks(pairs: Sequence[tuple[Path, Path]], shrinks: Sequence[int], seed: int) -> bool:
    """Time all and say fast_1 of each size; return whether every candidate was accepted."""
    from arbor.kernels.architectures import local_architecture  # noqa: PLC0415 - needs torch
    from arbor.targets.kernel.measuring import local_bench  # noqa: PLC0415
    from arbor.targets.kernel.task_runs import task_outcomes  # noqa: PLC0415

    outcomes = []
    for each in task_outcomes(pairs, shrinks, local_bench(local_architecture(), seed)):
        outcomes.append(each)
        say(_row(each))
    for shrink in shrinks:
        say(_summary(shrink, [each for each in outcomes if each.shrink == shrink]))
    return all(each.candidate_us is not None for each in outcomes)


def _row(outcome: "TaskOutcome") -> str:
    where = f"{outcome.task} /{outcome.shrink}"
    if outcome.candidate_us is None:
        return f"{where}: no time: {outcome.problem}"
    times = {"eager": outcome.eager_us, "compiled": outcome.compiled_us}
    rivals = ", ".join(f"{label} {us:.2f} us" for label, us in times.items() if us is not None)
    return f"{where}: {outcome.candidate_us:.2f} us; {rivals}"


def _summary(shrink: int, outcomes: Sequence["TaskOutcome"]) -> str:
    from arbor.kernels.tasks.fast_p import fast_p  # noqa: PLC0415 - needs the kernels extra

    shares = {
        rival: fast_p(outcomes, 1.0, rival)
        for rival, times in (
            ("eager", [each.eager_us for each in outcomes]),
            ("compiled", [each.compiled_us for each in outcomes]),
        )
        if None not in times
    }
    text = ", ".join(f"{share:.0%} against {rival}" for rival, share in shares.items())
    return f"fast_1 at sizes divided by {shrink}: {text or 'no rival was timed'}"
