"""What every operator offers: inputs, a reference, a kernel, its work and its space."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch

from arbor.kernels.architectures import Architecture, KernelInputError
from arbor.kernels.drawing import Draw
from arbor.kernels.launching import Config

Shape = Mapping[str, int]
"""Sizes by the operator's dimension names."""
Tensors = Sequence[torch.Tensor]

UNIT_ROUNDOFF = {
    torch.float64: 2.0**-53,
    torch.float32: 2.0**-24,
    torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8,
}
"""Largest relative error of one rounding."""


@dataclass(frozen=True, slots=True)
class Work:
    """What an operator has to do at least, however it is written.

    Attributes:
        num_bytes: inputs read once and outputs written once.
        num_flop: floating-point operations, a multiply-add being two.
        flop_format: format whose peak bounds them, such as ``bf16``; empty without matrix work.
    """

    num_bytes: int
    num_flop: int
    flop_format: str = ""


class Space(Protocol):
    """Configurations of an operator; each operator's ``space.py`` is one."""

    def choices(self, architecture: Architecture) -> Mapping[str, Sequence[int | str]]:
        """Return the values of every key, the order being that of their size."""
        ...

    def problem(self, config: Config, shape: Shape, dtype: str, architecture: Architecture) -> str:
        """Return why a configuration cannot run, before compiling it; empty when it may."""
        ...

    def default(self, shape: Shape, dtype: str, architecture: Architecture) -> Config:
        """Return the configuration that is shipped for a shape."""
        ...


class Operator(ABC):
    """An operator with one kernel of ours; outputs are buffers of the caller."""

    name: ClassVar[str]
    dimensions: ClassVar[tuple[str, ...]]
    """Names of a shape's sizes."""
    dtypes: ClassVar[tuple[str, ...]]
    space: ClassVar[Space]
    has_products: ClassVar[bool] = False
    """True when matrix units are used; Triton's interpreter cannot multiply bf16 matrices."""
    own_operators: ClassVar[frozenset[str]] = frozenset()
    """PyTorch operators that a kernel of this operator may use beside allocation and copies."""
    library_waits: ClassVar[bool] = False
    """True when ``library`` reads results on the host, so that no graph can hold it."""
    shipped_dtypes: ClassVar[tuple[str, ...]] = ("bf16",)
    """What is compiled ahead, tuned and timed; the others work and are checked."""
    odd_shapes: ClassVar[tuple[Shape, ...]]
    """Small and ragged: what the interpreter can check."""
    shipped_shapes: ClassVar[tuple[Shape, ...]]
    """Typical of inference: what is compiled ahead, tuned and timed."""
    between_shapes: ClassVar[tuple[Shape, ...]] = ()
    """Between those: tuned on a device as well, since the nearest tuned shape decides there."""

    def tuned_shapes(self) -> tuple[Shape, ...]:
        """Return what is tuned on a device: typical shapes, and those between them."""
        return (*self.shipped_shapes, *self.between_shapes)

    def interpreted_dtypes(self) -> tuple[str, ...]:
        """Return the dtypes that Triton's interpreter can check."""
        return tuple(name for name in self.dtypes if not (self.has_products and name == "bf16"))

    @abstractmethod
    def inputs(
        self, shape: Shape, dtype: str, draw: Draw, architecture: Architecture
    ) -> tuple[torch.Tensor, ...]:
        """Return fresh inputs."""

    @abstractmethod
    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return buffers for the results of ``inputs``, without contents."""

    @abstractmethod
    def reference(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the results by PyTorch, in the dtype of the inputs."""

    def library(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the results as somebody would write them with PyTorch for speed; the rival."""
        return self.reference(inputs)

    @abstractmethod
    def run(self, inputs: Tensors, outputs: Tensors, config: Config) -> None:
        """Fill ``outputs`` by the kernel."""

    @abstractmethod
    def work(self, shape: Shape, dtype: str) -> Work:
        """Return the least work of a shape."""

    def tolerance(self, dtype: torch.dtype, num_terms: int = 1) -> float:
        """Return the largest relative norm of the error that an honest kernel may have.

        One rounding to the output's dtype, and a float32 accumulation whose error grows with the
        root of its terms. The next lower precision exceeds it several times.

        Args:
            dtype: of the output.
            num_terms: products or summands behind one element.
        """
        accumulated = 8.0 * math.sqrt(num_terms) * UNIT_ROUNDOFF[torch.float32]
        return UNIT_ROUNDOFF[dtype] + min(accumulated, 1e-4)

    def num_terms(self, inputs: Tensors) -> int:
        """Return how many terms are summed behind one element of an output."""
        return inputs[0].shape[-1]

    def check_shape(self, shape: Shape, dtype: str) -> None:
        """Check sizes and dtype.

        Raises:
            KernelInputError: a size is missing, unknown or not positive, or the dtype is unknown.
        """
        if set(shape) != set(self.dimensions):
            wanted = ",".join(f"{name}=N" for name in self.dimensions)
            raise KernelInputError(
                f"{self.name} has shapes of the form {wanted}, not {dict(shape)}"
            )
        for name, size in shape.items():
            if size < 1:
                raise KernelInputError(f"{self.name}: {name}={size} is less than 1")
        if dtype not in self.dtypes:
            known = ", ".join(self.dtypes)
            raise KernelInputError(f"{self.name} has no dtype {dtype!r}; known: {known}")


_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}


def torch_dtype(name: str, architecture: Architecture) -> torch.dtype:
    """Return PyTorch's dtype; ``fp8`` is the architecture's own."""
    if name == "fp8":
        dtype: torch.dtype = getattr(torch, architecture.fp8_name)
        return dtype
    return _DTYPES[name]


def dtype_bytes(name: str) -> int:
    """Return the bytes of one element."""
    return _BYTES[name]


def require_contiguous(name: str, tensors: Tensors) -> None:
    """Check that kernels may address tensors by shape alone.

    Raises:
        KernelInputError: one is not contiguous.
    """
    if not all(tensor.is_contiguous() for tensor in tensors):
        raise KernelInputError(f"{name} needs contiguous tensors; call .contiguous() first")


def wide(tensor: torch.Tensor) -> torch.dtype:
    """Return the dtype that a reference computes in: float64 stays, the rest is float32."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32
