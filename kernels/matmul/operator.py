"""The matrix product as an operator of the harness."""

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
from arbor.kernels.matmul import reference
from arbor.kernels.matmul import space as matmul_space
from arbor.kernels.matmul.descriptor_kernel import matmul_by_descriptors
from arbor.kernels.matmul.kernel import matmul_by_loads

_SKINNY = ((4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336), (8192, 8192))
"""(n, k) of linear layers of models with 8 and 70 billion parameters."""


class Matmul(Operator):
    """Inputs ``x`` (m, k), ``weight`` (n, k) and, for fp8, their scales; output (m, n)."""

    name = "matmul"
    dimensions = ("m", "n", "k")
    dtypes = ("bf16", "fp16", "fp32", "fp8")
    space: ClassVar[Space] = matmul_space
    has_products = True
    shipped_dtypes = ("bf16", "fp8")
    odd_shapes = (
        {"m": 1, "n": 1, "k": 1},
        {"m": 3, "n": 63, "k": 100},
        {"m": 63, "n": 100, "k": 63},
        {"m": 17, "n": 40, "k": 1000},
        {"m": 80, "n": 72, "k": 128},
    )
    shipped_shapes = (
        *({"m": m, "n": n, "k": k} for n, k in _SKINNY for m in (1, 16)),
        {"m": 512, "n": 4096, "k": 4096},
        {"m": 4096, "n": 4096, "k": 4096},
        {"m": 8192, "n": 8192, "k": 8192},
    )
    between_shapes = tuple({"m": m, "n": n, "k": k} for n, k in _SKINNY for m in (32, 64))

    def inputs(
        self, shape: Shape, dtype: str, draw: Draw, architecture: Architecture
    ) -> tuple[torch.Tensor, ...]:
        """Return the matrices, and float32 scales of rows and columns for fp8."""
        kind = torch_dtype(dtype, architecture)
        x = draw.numbers(shape["m"], shape["k"], dtype=kind)
        weight = draw.numbers(shape["n"], shape["k"], dtype=kind)
        if dtype != "fp8":
            return x, weight
        scales = (draw.positive(shape[axis], dtype=torch.float32) for axis in ("m", "n"))
        return x, weight, *scales

    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return a buffer; fp8 gives bf16."""
        x, weight = inputs[:2]
        dtype = torch.bfloat16 if x.element_size() == 1 else x.dtype
        return (x.new_empty((x.shape[0], weight.shape[0]), dtype=dtype),)

    def reference(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the product by PyTorch."""
        return (reference.matmul(*inputs),)

    def library(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the product by the vendor's library."""
        x, weight = inputs[:2]
        if x.element_size() > 1:
            return (torch.nn.functional.linear(x, weight),)
        row, column = inputs[2][:, None], inputs[3][None, :]
        product = torch._scaled_mm(
            x, weight.T, scale_a=row, scale_b=column, out_dtype=torch.bfloat16
        )
        return (product,)

    def run(self, inputs: Tensors, outputs: Tensors, config: Config) -> None:
        """Fill the product by the kernel."""
        require_contiguous(self.name, (*inputs, *outputs))
        x, weight = inputs[:2]
        scales = (inputs[2], inputs[3]) if x.element_size() == 1 else None
        by_descriptors = config.get("VARIANT") == "descriptors"
        multiply = matmul_by_descriptors if by_descriptors else matmul_by_loads
        multiply(x, weight, scales, outputs[0], config)

    def work(self, shape: Shape, dtype: str) -> Work:
        """Return both matrices read once, the product written, two operations a term."""
        m, n, k = (shape[name] for name in self.dimensions)
        output_bytes = max(dtype_bytes(dtype), 2)
        num_bytes = (m + n) * k * dtype_bytes(dtype) + m * n * output_bytes
        if dtype == "fp8":
            num_bytes += 4 * (m + n)
        return Work(num_bytes, 2 * m * n * k, dtype)
