"""Operators by name: one line each, imported when asked for."""

from importlib import import_module

from arbor.kernels.architectures import KernelInputError
from arbor.kernels.base import Operator

# name -> module, class
_OPERATORS = {
    "rms_norm": ("arbor.kernels.rms_norm.operator", "RmsNorm"),
    "silu_and_mul": ("arbor.kernels.silu_and_mul.operator", "SiluAndMul"),
    "softmax": ("arbor.kernels.softmax.operator", "Softmax"),
    "matmul": ("arbor.kernels.matmul.operator", "Matmul"),
    "paged_decode": ("arbor.kernels.paged_decode.operator", "PagedDecode"),
    "fused_moe": ("arbor.kernels.fused_moe.operator", "FusedMoe"),
}


def operator_names() -> tuple[str, ...]:
    """Return the names of all operators."""
    return tuple(_OPERATORS)


def create_operator(name: str) -> Operator:
    """Return an operator by name.

    Raises:
        KernelInputError: the name is unknown.
    """
    if name not in _OPERATORS:
        raise KernelInputError(f"unknown operator {name!r}; known: {', '.join(_OPERATORS)}")
    module, class_name = _OPERATORS[name]
    operator: Operator = getattr(import_module(module), class_name)()
    return operator
