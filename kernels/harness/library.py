"""PyTorch's own way of an operator as a candidate: a rival, which may use PyTorch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Operator, Shape, Tensors
from arbor.kernels.harness.problem import OperatorProblem


@dataclass(frozen=True, slots=True)
class LibraryProblem(OperatorProblem):
    """An operator's problem for which PyTorch is allowed; its roundings are PyTorch's choice."""

    @property
    def may_use_pytorch(self) -> bool:
        """Return True: PyTorch is the rival."""
        return True

    def tolerance(self, result: torch.Tensor, inputs: Tensors) -> float:
        """Return a bound for several roundings, since eager PyTorch stores every step."""
        return 4 * OperatorProblem.tolerance(self, result, inputs)


@dataclass(frozen=True, slots=True)
class LibraryCandidate:
    """Calls a function that returns its results.

    Attributes:
        function: takes the list of inputs.
        waits_for_device: it reads results on the host, so that no graph can hold it.
    """

    function: Callable[..., Any]
    waits_for_device: bool = False

    def __call__(self, inputs: Tensors, outputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Solve once."""
        del outputs
        results: tuple[torch.Tensor, ...] = tuple(self.function(list(inputs)))
        return results


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function under ``torch.compile``, for fixed sizes and from a clean state.

    The compiler has no workers of its own: their threads start at any time, would be found beside
    the next candidate and blamed on it.
    """
    import torch._inductor.config as inductor  # noqa: PLC0415 - takes a second to import

    inductor.compile_threads = 1
    torch.compiler.reset()
    return torch.compile(function, dynamic=False)


def library_problem(
    operator: Operator, shape: Shape, dtype: str, device: torch.device, architecture: Architecture
) -> LibraryProblem:
    """Return an operator's problem for PyTorch's own way."""
    return LibraryProblem(operator, shape, dtype, device, architecture)
