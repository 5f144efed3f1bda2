"""Times candidates of task files beside eager PyTorch and torch.compile, at several sizes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from arbor.kernels.checking import compute_device
from arbor.kernels.harness.library import compiled
from arbor.kernels.tasks.fast_p import TaskOutcome
from arbor.kernels.tasks.problem import ModelCandidate, task_candidate, task_problem
from arbor.targets.kernel.measuring import Bench


def task_outcomes(
    pairs: Sequence[tuple[Path, Path]], shrinks: Sequence[int], bench: Bench
) -> Iterator[TaskOutcome]:
    """Yield the outcome of every task at every size.

    ``torch.compile`` is a rival on accelerators only: on a processor it needs a compiler of C++.

    Args:
        pairs: files of a task and of its candidate.
        shrinks: factors by which sizes are divided, 1 being native.
        bench: how to measure.

    Raises:
        KernelInputError: a file is wrong.
    """
    device = compute_device()
    for task, file in pairs:
        for shrink in shrinks:
            problem = task_problem(task, shrink, device)
            ours = bench.measured(task_candidate(file, task, shrink, device), problem, {})
            open_problem = replace(problem, may_use_pytorch=True)
            eager = bench.measured(ModelCandidate(problem.model), open_problem, {})
            compiled_us = None
            if device.type == "cuda":
                rival = ModelCandidate(compiled(problem.model))
                compiled_us = bench.measured(rival, open_problem, {}).median_us
            yield TaskOutcome(
                task.stem, shrink, ours.median_us, eager.median_us, compiled_us, ours.problem
            )
