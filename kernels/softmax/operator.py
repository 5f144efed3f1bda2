"""Softmax as an operator of the harness."""

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
from arbor.kernels.softmax import reference
from arbor.kernels.softmax import space as softmax_space
from arbor.kernels.softmax.kernel import softmax


class Softmax(Operator):
    """Input and output (num_rows, width)."""

    name = "softmax"
    dimensions = ("num_rows", "width")
    dtypes = ("bf16", "fp16", "fp32")
    space: ClassVar[Space] = softmax_space
    odd_shapes = (
        {"num_rows": 1, "width": 1},
        {"num_rows": 3, "width": 63},
        {"num_rows": 5, "width": 100},
        {"num_rows": 2, "width": 1000},
        {"num_rows": 1, "width": 17000},
    )
    shipped_shapes = tuple(
        {"num_rows": num_rows, "width": width}
        for width, rows in ((1024, (64, 16384)), (4096, (64, 16384)), (151_936, (1, 64, 512)))
        for num_rows in rows
    )
    # odd widths: rows that begin at any address are loaded in small pieces
    between_shapes = tuple(
        {"num_rows": 8192, "width": width} for width in (1023, 1531, 2047, 3071, 4095, 6143, 8191)
    )

    def inputs(
        self, shape: Shape, dtype: str, draw: Draw, architecture: Architecture
    ) -> tuple[torch.Tensor, ...]:
        """Return the logits."""
        kind = torch_dtype(dtype, architecture)
        return (draw.numbers(shape["num_rows"], shape["width"], dtype=kind),)

    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return a buffer of the same form."""
        return (torch.empty_like(inputs[0]),)

    def reference(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the softmax by PyTorch."""
        return (reference.softmax(inputs[0]),)

    def library(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the softmax by PyTorch."""
        return (torch.softmax(inputs[0], dim=-1),)

    def run(self, inputs: Tensors, outputs: Tensors, config: Config) -> None:
        """Fill the softmax by the kernel."""
        require_contiguous(self.name, (*inputs, *outputs))
        softmax(inputs[0], outputs[0], config)

    def work(self, shape: Shape, dtype: str) -> Work:
        """Return one matrix read and one written for about five operations an element."""
        elements = shape["num_rows"] * shape["width"]
        return Work(2 * elements * dtype_bytes(dtype), 5 * elements)
