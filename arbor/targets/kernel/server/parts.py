"""What a worktree asks to be run: for each shape or size a problem and its candidate."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arbor.events.errors import InvalidInputError
from arbor.events.types import Scalar
from arbor.kernels.architectures import local_architecture
from arbor.kernels.checking import compute_device
from arbor.kernels.harness.library import compiled
from arbor.kernels.harness.problem import Candidate, OperatorCandidate, OperatorProblem, Problem
from arbor.kernels.registry import create_operator
from arbor.kernels.tasks.problem import ModelCandidate, TaskProblem, task_candidate, task_problem
from arbor.targets.kernel.config import KernelTargetConfig

CANDIDATE_FILE = "candidate.py"
MODES = ("eager", "compiled", "candidate")


@dataclass(frozen=True, slots=True)
class Part:
    """One problem with what solves it.

    Attributes:
        name: category of profiles and prefix of counters.
        problem: what has to be solved.
        candidate: what solves it.
        is_changed: whether this is not what the baseline runs.
    """

    name: str
    problem: Problem
    candidate: Candidate
    is_changed: bool


def parts_of(
    options: KernelTargetConfig, config: Mapping[str, Scalar], worktree: Path
) -> list[Part]:
    """Return all parts of a worktree.

    Raises:
        InvalidInputError: a configuration is outside the space.
        KernelInputError: a shape, a name or a file is wrong.
    """
    return (
        _operator_parts(options, config)
        if options.operator
        else _task_parts(options, config, worktree)
    )


def _operator_parts(options: KernelTargetConfig, config: Mapping[str, Scalar]) -> list[Part]:
    operator, architecture = create_operator(options.operator), local_architecture()
    parts = []
    for index, shape in enumerate(options.shapes or operator.shipped_shapes):
        operator.check_shape(shape, options.dtype)
        prefix = f"shape_{index}."
        own = {
            key.removeprefix(prefix): value if isinstance(value, str) else int(value)
            for key, value in config.items()
            if key.startswith(prefix)
        }
        choices = operator.space.choices(architecture)
        for key, value in own.items():
            if value not in choices.get(key, ()):
                raise InvalidInputError(f"{prefix}{key}={value!r} is none of {choices.get(key)}")
        problem = operator.space.problem(own, shape, options.dtype, architecture)
        if problem:
            raise InvalidInputError(f"{prefix}*: {problem}")
        shipped = operator.space.default(shape, options.dtype, architecture)
        parts.append(
            Part(
                name=prefix.rstrip("."),
                problem=OperatorProblem(
                    operator, shape, options.dtype, compute_device(), architecture
                ),
                candidate=OperatorCandidate(operator, own),
                is_changed=own != dict(shipped),
            )
        )
    return parts


def _task_parts(
    options: KernelTargetConfig, config: Mapping[str, Scalar], worktree: Path
) -> list[Part]:
    if options.task is None:
        raise InvalidInputError("neither an operator nor a task is given")
    mode = config.get("run.mode")
    if mode not in MODES:
        raise InvalidInputError(f"run.mode={mode!r} is none of {', '.join(MODES)}")
    parts = []
    for shrink in options.shrinks:
        problem = task_problem(options.task, shrink, compute_device())
        candidate: Candidate
        if mode == "candidate":
            candidate = task_candidate(
                worktree / CANDIDATE_FILE, options.task, shrink, compute_device()
            )
        else:
            candidate, problem = _rival(problem, is_compiled=mode == "compiled")
        parts.append(Part(f"shrink_{shrink}", problem, candidate, mode != "eager"))
    return parts


def _rival(problem: TaskProblem, *, is_compiled: bool) -> tuple[ModelCandidate, TaskProblem]:
    model = compiled(problem.model) if is_compiled else problem.model
    allowed = TaskProblem(
        problem.name, problem.model, problem.draw, problem.device, may_use_pytorch=True
    )
    return ModelCandidate(model), allowed
