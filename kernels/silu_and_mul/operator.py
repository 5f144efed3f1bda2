"""SiLU-and-multiply as an operator of the harness."""

from typing import ClassVar

import torch

from arbor.kernels.architectures import Architecture
from arbor.kernels.base import (
    Operator,
    Shape,
    Space,
    Tensors,
    Work,
    dtype_bytes,
    require_contiguous,
    torch_dtype,
)
from arbor.kernels.drawing import Draw
from arbor.kernels.launching import Config
from arbor.kernels.silu_and_mul import reference
from arbor.kernels.silu_and_mul import space as silu_and_mul_space
from arbor.kernels.silu_and_mul.kernel import silu_and_mul


class SiluAndMul(Operator):
    """Input (num_rows, 2 * width), output (num_rows, width)."""

    name = "silu_and_mul"
    dimensions = ("num_rows", "width")
    dtypes = ("bf16", "fp16", "fp32")
    space: ClassVar[Space] = silu_and_mul_space
    odd_shapes = (
        {"num_rows": 1, "width": 1},
        {"num_rows": 3, "width": 63},
        {"num_rows": 5, "width": 100},
        {"num_rows": 2, "width": 1000},
    )
    shipped_shapes = tuple(
        {"num_rows": num_rows, "width": width}
        for width in (2816, 14336)
        for num_rows in (1, 64, 4096, 16384)
    )
    between_shapes = tuple(
        {"num_rows": num_rows, "width": width}
        for width in (3072, 5120, 7168)
        for num_rows in (4096, 16384)
    )

    def inputs(
        self, shape: Shape, dtype: str, draw: Draw, architecture: Architecture
    ) -> tuple[torch.Tensor, ...]:
        """Return the gate and the value side by side."""
        kind = torch_dtype(dtype, architecture)
        return (draw.numbers(shape["num_rows"], 2 * shape["width"], dtype=kind),)

    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return a buffer of half the width."""
        num_rows, double_width = inputs[0].shape
        return (inputs[0].new_empty(num_rows, double_width // 2),)

    def reference(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the products by PyTorch."""
        return (reference.silu_and_mul(inputs[0]),)

    def library(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the products by PyTorch's own SiLU."""
        gate, up = inputs[0].chunk(2, dim=-1)
        return (torch.nn.functional.silu(gate) * up,)

    def run(self, inputs: Tensors, outputs: Tensors, config: Config) -> None:
        """Fill the products by the kernel."""
        require_contiguous(self.name, (*inputs, *outputs))
        silu_and_mul(inputs[0], outputs[0], config)

    def work(self, shape: Shape, dtype: str) -> Work:
        """Return two values read and one written for about five operations."""
        elements = shape["num_rows"] * shape["width"]
        return Work(3 * elements * dtype_bytes(dtype), 5 * elements)

    def num_terms(self, inputs: Tensors) -> int:  # noqa: ARG002 - nothing is summed
        """Return 1: every element stands alone."""
        return 1
