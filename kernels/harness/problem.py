"""What a candidate has to solve: inputs, an oracle and a tolerance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from arbor.kernels.architectures import Architecture, is_interpreted
from arbor.kernels.base import Operator, Shape, Tensors, Work
from arbor.kernels.drawing import Draw, Variation
from arbor.kernels.launching import Config


class Problem(Protocol):
    """Something with fresh inputs and known results."""

    @property
    def name(self) -> str:
        """Return a name for messages."""
        ...

    @property
    def device(self) -> torch.device:
        """Return where inputs and outputs lie."""
        ...

    @property
    def may_use_pytorch(self) -> bool:
        """Return True for rivals, whose operators and threads are not watched.

        ``torch.compile`` does not compile a function that is first called under a watch, and runs
        it eagerly from then on; and it leaves threads of its own behind.
        """
        ...

    def forbidden(self, used: frozenset[str]) -> frozenset[str]:
        """Return which of the computing PyTorch operators that were used are not allowed."""
        ...

    def inputs(self, seed: int, variation: Variation) -> tuple[torch.Tensor, ...]:
        """Return fresh inputs; equal seeds and variations give equal ones."""
        ...

    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return buffers that a candidate may fill; empty when it makes its own."""
        ...

    def expected(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the results in float64, whole numbers as they are."""
        ...

    def tolerance(self, result: torch.Tensor, inputs: Tensors) -> float:
        """Return the largest relative norm of an honest result's error."""
        ...

    def work(self) -> Work | None:
        """Return the least work; None when it is not known."""
        ...


class Candidate(Protocol):
    """A solution under test: fills the outputs, or returns results of its own."""

    def __call__(self, inputs: Tensors, outputs: Tensors) -> Sequence[torch.Tensor] | None:
        """Solve once; None means that the outputs hold the results."""
        ...


@dataclass(frozen=True, slots=True)
class OperatorProblem:
    """One shape and dtype of an operator.

    Attributes:
        operator: whose reference is the oracle.
        shape: sizes.
        dtype: of the inputs.
        device: where to compute.
        architecture: whose fp8 is meant.
    """

    operator: Operator
    shape: Shape
    dtype: str
    device: torch.device
    architecture: Architecture

    @property
    def name(self) -> str:
        """Return operator, dtype and sizes."""
        sizes = ",".join(f"{name}={size}" for name, size in self.shape.items())
        return f"{self.operator.name} {self.dtype} {sizes}"

    @property
    def may_use_pytorch(self) -> bool:
        """Return False: a kernel is under test."""
        return False

    def forbidden(self, used: frozenset[str]) -> frozenset[str]:
        """Return all but the operator's own."""
        return used - self.operator.own_operators

    def inputs(self, seed: int, variation: Variation) -> tuple[torch.Tensor, ...]:
        """Return fresh inputs."""
        draw = Draw(seed, self.device, variation)
        return self.operator.inputs(self.shape, self.dtype, draw, self.architecture)

    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return buffers without contents."""
        return self.operator.outputs(inputs)

    def expected(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the reference's results in float64."""
        return self.operator.reference([as_oracle_input(each) for each in inputs])

    def tolerance(self, result: torch.Tensor, inputs: Tensors) -> float:
        """Return the operator's bound, twice as large where bf16 is truncated, not rounded."""
        bound = self.operator.tolerance(result.dtype, self.operator.num_terms(inputs))
        is_truncated = is_interpreted() and result.dtype == torch.bfloat16
        return 2 * bound if is_truncated else bound

    def work(self) -> Work | None:
        """Return the operator's least work."""
        return self.operator.work(self.shape, self.dtype)


@dataclass(frozen=True, slots=True)
class OperatorCandidate:
    """An operator's kernel in one configuration."""

    operator: Operator
    config: Config

    def __call__(self, inputs: Tensors, outputs: Tensors) -> None:
        """Fill the outputs."""
        self.operator.run(inputs, outputs, self.config)


def as_oracle_input(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor in float64 when it holds floating-point numbers, else as it is."""
    return tensor.double() if tensor.is_floating_point() else tensor
