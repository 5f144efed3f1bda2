"""The mixture of experts as an operator of the harness."""

from typing import ClassVar

import torch

from arbor.kernels.architectures import Architecture, KernelInputError
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
from arbor.kernels.fused_moe import reference
from arbor.kernels.fused_moe import space as fused_moe_space
from arbor.kernels.fused_moe.kernel import fused_moe
from arbor.kernels.launching import Config


def _shape(tokens: int, experts: int, top_k: int, hidden: int, width: int) -> Shape:
    return {
        "num_tokens": tokens,
        "num_experts": experts,
        "top_k": top_k,
        "hidden": hidden,
        "width": width,
    }


class FusedMoe(Operator):
    """Inputs ``x``, router logits, both matrices of all experts, slots; output like ``x``.

    The slots (top_k,) only say by their length how many experts a token has.
    """

    name = "fused_moe"
    dimensions = ("num_tokens", "num_experts", "top_k", "hidden", "width")
    dtypes = ("bf16", "fp16", "fp32")
    space: ClassVar[Space] = fused_moe_space
    has_products = True
    library_waits = True
    odd_shapes = (
        _shape(1, 1, 1, 16, 7),
        _shape(3, 5, 2, 63, 100),
        _shape(40, 8, 3, 100, 63),
    )
    shipped_shapes = (
        *(_shape(tokens, 8, 2, 4096, 14336) for tokens in (1, 64, 2048)),
        *(_shape(tokens, 128, 8, 2048, 768) for tokens in (1, 64, 2048)),
    )

    def check_shape(self, shape: Shape, dtype: str) -> None:
        """Check sizes and dtype.

        Raises:
            KernelInputError: as for all operators, or more experts are chosen than there are.
        """
        super().check_shape(shape, dtype)
        if shape["top_k"] > shape["num_experts"]:
            raise KernelInputError(
                f"{self.name}: top_k={shape['top_k']} > num_experts={shape['num_experts']}"
            )

    def inputs(
        self, shape: Shape, dtype: str, draw: Draw, architecture: Architecture
    ) -> tuple[torch.Tensor, ...]:
        """Return tokens, float32 logits and experts, whose results have the size of the tokens."""
        kind = torch_dtype(dtype, architecture)
        tokens, experts, _, hidden, width = (shape[name] for name in self.dimensions)
        return (
            draw.numbers(tokens, hidden, dtype=kind),
            draw.numbers(tokens, experts, dtype=torch.float32),
            draw.steady(experts, 2 * width, hidden, dtype=kind, scale=hidden**-0.5),
            draw.steady(experts, hidden, width, dtype=kind, scale=width**-0.5),
            draw.permutation(shape["top_k"]),
        )

    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return a buffer like the tokens."""
        return (torch.empty_like(inputs[0]),)

    def reference(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the weighted sums by PyTorch."""
        x, logits, gate_up, down, slots = inputs
        return (reference.fused_moe(x, logits, gate_up, down, slots.shape[0]),)

    def run(self, inputs: Tensors, outputs: Tensors, config: Config) -> None:
        """Fill the weighted sums by the kernels."""
        require_contiguous(self.name, (*inputs, *outputs))
        x, logits, gate_up, down, slots = inputs
        fused_moe(x, logits, (gate_up, down), slots.shape[0], outputs[0], config)

    def work(self, shape: Shape, dtype: str) -> Work:
        """Return the matrices of all experts that are expected to be chosen, and the products."""
        tokens, experts, top_k, hidden, width = (shape[name] for name in self.dimensions)
        # evenly spread choices miss an expert with this probability
        missed = (1 - top_k / experts) ** tokens
        elements = experts * (1 - missed) * 3 * hidden * width + 2 * tokens * hidden
        num_bytes = int(elements) * dtype_bytes(dtype) + 4 * tokens * experts
        return Work(num_bytes, 6 * tokens * top_k * hidden * width, dtype)

    def tolerance(self, dtype: torch.dtype, num_terms: int = 1) -> float:
        """Return the bound for three roundings: inner, activated and parts are stored."""
        return 2 * super().tolerance(dtype, num_terms)

    def num_terms(self, inputs: Tensors) -> int:
        """Return the terms of the longer of both products."""
        return max(inputs[0].shape[1], inputs[3].shape[2])
