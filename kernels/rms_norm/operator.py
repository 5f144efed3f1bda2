"""RMSNorm with a residual as an operator of the harness."""

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
from arbor.kernels.rms_norm import reference
from arbor.kernels.rms_norm import space as rms_norm_space
from arbor.kernels.rms_norm.kernel import rms_norm

EPSILON = 1e-5


class RmsNorm(Operator):
    """Inputs ``x``, ``residual``, ``weight``; outputs ``y`` and ``x + residual``."""

    name = "rms_norm"
    dimensions = ("num_rows", "width")
    dtypes = ("bf16", "fp16", "fp32")
    space: ClassVar[Space] = rms_norm_space
    odd_shapes = (
        {"num_rows": 1, "width": 1},
        {"num_rows": 3, "width": 63},
        {"num_rows": 5, "width": 100},
        {"num_rows": 2, "width": 1000},
        {"num_rows": 1, "width": 17000},
    )
    shipped_shapes = tuple(
        {"num_rows": num_rows, "width": width}
        for width in (2048, 4096, 8192)
        for num_rows in (1, 64, 4096, 16384)
    )
    # no powers of two: a block that holds a whole row would be partly empty
    between_shapes = tuple(
        {"num_rows": num_rows, "width": width}
        for width in (2816, 3072, 5120, 7168)
        for num_rows in (4096, 16384)
    )

    def inputs(
        self, shape: Shape, dtype: str, draw: Draw, architecture: Architecture
    ) -> tuple[torch.Tensor, ...]:
        """Return ``x`` and ``residual`` (num_rows, width), ``weight`` (width,)."""
        kind = torch_dtype(dtype, architecture)
        rows, width = shape["num_rows"], shape["width"]
        x = draw.numbers(rows, width, dtype=kind)
        return x, draw.numbers(rows, width, dtype=kind), draw.numbers(width, dtype=kind)

    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return buffers for ``y`` and the sum."""
        return torch.empty_like(inputs[0]), torch.empty_like(inputs[0])

    def reference(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return ``y`` and the sum by PyTorch."""
        x, residual, weight = inputs
        return reference.rms_norm(x, weight, EPSILON, residual)

    def library(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return both by PyTorch's own RMSNorm."""
        x, residual, weight = inputs
        total = x + residual
        return torch.nn.functional.rms_norm(total, weight.shape, weight, EPSILON), total

    def run(self, inputs: Tensors, outputs: Tensors, config: Config) -> None:
        """Fill ``y`` and the sum by the kernel."""
        require_contiguous(self.name, (*inputs, *outputs))
        x, residual, weight = inputs
        rms_norm(x, residual, weight, outputs[0], outputs[1], EPSILON, config)

    def work(self, shape: Shape, dtype: str) -> Work:
        """Return two matrices read, two written, the weight, and some six operations each."""
        elements = shape["num_rows"] * shape["width"]
        return Work((4 * elements + shape["width"]) * dtype_bytes(dtype), 6 * elements)
