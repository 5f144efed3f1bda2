"""Compiles a recorded launch for an explicit architecture; no accelerator is needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget

from arbor.kernels.architectures import Architecture, KernelInputError, is_interpreted
from arbor.kernels.base import Operator, Shape
from arbor.kernels.drawing import Draw
from arbor.kernels.launching import Config, Launch, recorded_launches
from arbor.kernels.proof.assembly import KernelFigures, read_figures

_POINTERS = {
    torch.float32: "*fp32",
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.float8_e4m3fn: "*fp8e4nv",
    torch.float8_e4m3fnuz: "*fp8e4b8",
    torch.int32: "*i32",
    torch.int64: "*i64",
}
_ALIGNMENT_BYTES = 16
_INT32_END = 1 << 31


class CompilationFailedError(Exception):
    """The compiler refused a kernel; the first line says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """What the compiler is given, by which a result can be found again.

    Attributes:
        launch: the recorded launch.
        signature: Triton's type of every parameter.
        constants: compile-time values by parameter.
        attributes: known divisibility by the parameter's index.
    """

    launch: Launch
    signature: Mapping[str, str]
    constants: Mapping[str, Any]
    attributes: Mapping[tuple[int, ...], Sequence[Sequence[Any]]]

    def describe(self) -> str:
        """Return all of it in a fixed order, the kernel's source included."""
        parts = (
            self.launch.kernel.cache_key,
            sorted(self.signature.items()),
            sorted((name, str(value)) for name, value in self.constants.items()),
            sorted(self.attributes),
            sorted(self.launch.options.items()),
        )
        return repr(parts)


def sources_of(
    operator: Operator, shape: Shape, dtype: str, config: Config, architecture: Architecture
) -> list[Source]:
    """Return the kernels that an operator starts, specialised as at run time.

    Raises:
        KernelInputError: kernels are interpreted in this process, or the shape is wrong.
    """
    if is_interpreted():
        raise KernelInputError("nothing is compiled under TRITON_INTERPRET=1; unset it")
    operator.check_shape(shape, dtype)
    draw = Draw(0, torch.device("meta"))
    inputs = operator.inputs(shape, dtype, draw, architecture)
    with recorded_launches() as launches:
        operator.run(inputs, operator.outputs(inputs), config)
    return [_specialised(each) for each in launches]


def compile_for(source: Source, architecture: Architecture) -> KernelFigures:
    """Compile one kernel and read its figures.

    Raises:
        CompilationFailedError: the compiler refused it.
    """
    ast = triton.compiler.ASTSource(
        source.launch.kernel,
        signature=dict(source.signature),
        constexprs=dict(source.constants),
        attrs=dict(source.attributes),
    )
    target = GPUTarget(architecture.backend, architecture.code, architecture.warp_size)
    try:
        compiled = triton.compile(ast, target=target, options=dict(source.launch.options))
    except Exception as error:  # any class: passes of the compiler raise what they like
        lines = [line for line in str(error).splitlines() if line.strip()]
        what = lines[0] if lines else type(error).__name__
        raise CompilationFailedError(f"{type(error).__name__}: {what}") from error
    return read_figures(compiled, architecture)


def _specialised(launch: Launch) -> Source:
    signature: dict[str, str] = {}
    constants = dict(launch.constants)
    attributes: dict[tuple[int, ...], list[list[Any]]] = {}
    for index, name in enumerate(launch.kernel.arg_names):
        if name in launch.constants:
            signature[name] = "constexpr"
            continue
        value = launch.arguments[name]
        is_aligned = True
        if isinstance(value, torch.Tensor):
            signature[name] = _POINTERS[value.dtype]
        elif isinstance(value, float):
            signature[name] = "fp32"
            is_aligned = False
        elif value == 1:
            # Triton compiles a 1 into the kernel
            signature[name] = "constexpr"
            constants[name] = 1
            continue
        else:
            signature[name] = "i32" if -_INT32_END <= value < _INT32_END else "i64"
            is_aligned = value % _ALIGNMENT_BYTES == 0
        if is_aligned:
            attributes[index,] = [["tt.divisibility", _ALIGNMENT_BYTES]]
    return Source(launch, signature, constants, attributes)
