"""A task file as a problem of the harness, and a candidate's model as its solution."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from arbor.kernels.architectures import KernelInputError
from arbor.kernels.base import Tensors, Work
from arbor.kernels.drawing import Variation
from arbor.kernels.harness.problem import as_oracle_input
from arbor.kernels.tasks.loading import load_candidate, load_task

MODEL_SEED = 7
"""Weights of the task's and the candidate's model are drawn from it."""
TOLERANCE = 1e-4
"""Relative norm that a float32 result may be off: products in tf32 or in 16 bits exceed it."""
_HALF_TOLERANCE = 8e-3


@dataclass(frozen=True)
class TaskProblem:
    """A task at one size.

    Attributes:
        name: of the file, with the factor by which sizes were shrunk.
        model: of the task, with its weights.
        draw: the task's ``get_inputs``.
        device: where it is solved.
        may_use_pytorch: True for rivals; candidates must bring kernels of their own.
    """

    name: str
    model: torch.nn.Module
    draw: Callable[[], list[Any]]
    device: torch.device
    may_use_pytorch: bool = False

    def inputs(self, seed: int, variation: Variation) -> tuple[torch.Tensor, ...]:
        """Return the task's inputs, drawn after seeding PyTorch.

        Floating-point inputs are made larger or smaller by the variation, never shifted: a task
        may ask for positive ones.
        """
        scale = {"normal": 1.0, "wide": 2.0, "shifted": 0.5}[variation]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            drawn = self.draw()
        tensors = [each.to(self.device) for each in drawn if isinstance(each, torch.Tensor)]
        if len(tensors) != len(drawn):
            raise KernelInputError(f"{self.name}: get_inputs returns something that is no tensor")
        return tuple(
            (each * scale if each.is_floating_point() else each).contiguous() for each in tensors
        )

    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return nothing: models return results of their own."""
        del inputs
        return ()

    def expected(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the results of the task's model in float64."""
        oracle = copy.deepcopy(self.model).double()
        with torch.no_grad():
            return as_results(oracle(*(as_oracle_input(each) for each in inputs)))

    def tolerance(self, result: torch.Tensor, inputs: Tensors) -> float:
        """Return the bound of the result's dtype."""
        del inputs
        return TOLERANCE if result.dtype == torch.float32 else _HALF_TOLERANCE

    def forbidden(self, used: frozenset[str]) -> frozenset[str]:
        """Return all computing operators."""
        return used

    def work(self) -> Work | None:
        """Return None: nobody has counted."""
        return None


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """A model as a candidate."""

    model: Callable[..., Any]

    def __call__(self, inputs: Tensors, outputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Solve once."""
        del outputs
        with torch.no_grad():
            return as_results(self.model(*inputs))


def as_results(returned: Any) -> tuple[torch.Tensor, ...]:
    """Return what a model returned as a tuple."""
    return tuple(returned) if isinstance(returned, tuple | list) else (returned,)


def task_problem(path: Path, shrink: int, device: torch.device) -> TaskProblem:
    """Return a task as a problem for candidates.

    Raises:
        KernelInputError: the file is no task, or its model cannot be built at this size.
    """
    module = load_task(path, shrink)
    model = _seeded(module.Model, module.get_init_inputs(), path, device)
    return TaskProblem(f"{path.stem} /{shrink}", model, module.get_inputs, device)


def task_candidate(path: Path, task: Path, shrink: int, device: torch.device) -> ModelCandidate:
    """Return a candidate file's model, built like the task's, with the same weights.

    Raises:
        KernelInputError: a file is wrong, or the model cannot be built.
    """
    module = load_task(task, shrink)
    arguments = module.get_init_inputs()
    model = _seeded(load_candidate(path), arguments, path, device)
    theirs = _seeded(module.Model, arguments, task, device).state_dict()
    if set(theirs) == set(model.state_dict()):
        model.load_state_dict(theirs)
    return ModelCandidate(model)


def _seeded(kind: Any, arguments: list[Any], path: Path, device: torch.device) -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(MODEL_SEED)
        try:
            model: torch.nn.Module = kind(*arguments)
        except Exception as error:
            raise KernelInputError(f"{path}: the model cannot be built: {error}") from error
    return model.to(device).eval()
