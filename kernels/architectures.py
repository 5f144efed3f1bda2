"""Accelerator architectures that kernels are compiled for, with the limits of one program."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


class KernelInputError(ValueError):
    """What was asked of a kernel cannot be; one line that names the fix."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """An accelerator architecture.

    Attributes:
        name: ``gfx942``, or ``sm_90`` for compute capability 9.0.
        backend: Triton's name of the compiler backend.
        code: Triton's name of the architecture within the backend.
        warp_size: threads of a warp or wavefront.
        shared_bytes: shared memory (LDS) that one program may use.
        num_registers: 32-bit registers that one thread may use, accumulation registers included.
        num_processors: compute units or streaming multiprocessors of a whole device.
        cache_bytes: last-level cache; inputs that are timed must be larger.
        fp8_name: native 8-bit floating-point type, as PyTorch names it.
        matrix_pattern: what a matrix instruction looks like in the assembly.
        has_descriptors: True when bulk copies by tensor descriptors are native.
    """

    name: str
    backend: Literal["hip", "cuda"]
    code: str | int
    warp_size: int
    shared_bytes: int
    num_registers: int
    num_processors: int
    cache_bytes: int
    fp8_name: str
    matrix_pattern: str
    has_descriptors: bool


_MIB = 1 << 20
_MFMA = r"\bv_mfma_"

# Shared memory and caches: ROCm "accelerator and GPU hardware specifications"; CUDA tuning guides.
# CDNA threads have 256 vector and 256 accumulation registers.
_ALL = (
    Architecture(
        "gfx942", "hip", "gfx942", 64, 65_536, 512, 304, 256 * _MIB, "float8_e4m3fnuz",
        _MFMA, False,
    ),
    Architecture(
        "gfx950", "hip", "gfx950", 64, 163_840, 512, 256, 256 * _MIB, "float8_e4m3fn", _MFMA, False
    ),
    Architecture(
        "sm_90", "cuda", 90, 32, 232_448, 255, 132, 50 * _MIB, "float8_e4m3fn",
        r"\bwgmma\.mma_async|\bmma\.sync", True,
    ),
    Architecture(
        "sm_100", "cuda", 100, 32, 232_448, 255, 148, 126 * _MIB, "float8_e4m3fn",
        r"\btcgen05\.mma|\bmma\.sync", True,
    ),
)  # fmt: skip

ARCHITECTURES: Mapping[str, Architecture] = {each.name: each for each in _ALL}


def architecture(name: str) -> Architecture:
    """Return an architecture by name.

    Raises:
        KernelInputError: the name is unknown.
    """
    if name not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise KernelInputError(f"unknown architecture {name!r}; known: {known}")
    return ARCHITECTURES[name]


def is_interpreted() -> bool:
    """Return whether Triton interprets kernels on the processor in this process."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def local_architecture() -> Architecture:
    """Return the architecture of this machine's accelerator; interpreted kernels act as sm_90.

    Raises:
        KernelInputError: there is no accelerator, or no figures are known for it.
    """
    import torch  # noqa: PLC0415 - this module is read without it

    if is_interpreted():
        return ARCHITECTURES["sm_90"]
    if not torch.cuda.is_available():
        raise KernelInputError(
            "no accelerator is visible; set TRITON_INTERPRET=1 to run kernels on the processor"
        )
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    if torch.version.hip is not None:
        return architecture(properties.gcnArchName.split(":")[0])
    return architecture(f"sm_{properties.major}{properties.minor}")
