"""Reads registers, spills, shared memory and matrix instructions from what was compiled."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbor.kernels.architectures import Architecture

_TOOL_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class KernelFigures:
    """What one compiled kernel uses.

    Attributes:
        name: of the kernel.
        num_registers: registers of a thread: vector and accumulation registers on AMD.
        num_spills: registers that were spilled (AMD), or 4-byte words on the stack (NVIDIA).
        shared_bytes: shared memory or LDS of a program.
        num_matrix_instructions: in the text of the assembly, not executed ones.
        matrix_instructions: their names, each once.
        binary_bytes: size of the code object.
    """

    name: str
    num_registers: int
    num_spills: int
    shared_bytes: int
    num_matrix_instructions: int
    matrix_instructions: tuple[str, ...]
    binary_bytes: int

    def excess(self, architecture: Architecture) -> str:
        """Return which limit is exceeded; empty when the kernel runs without spilling."""
        if self.shared_bytes > architecture.shared_bytes:
            return f"{self.shared_bytes} bytes of shared memory > {architecture.shared_bytes}"
        if self.num_registers > architecture.num_registers:
            return f"{self.num_registers} registers > {architecture.num_registers}"
        if self.num_spills:
            return f"{self.num_spills} registers spilled"
        return ""


def read_figures(compiled: Any, architecture: Architecture) -> KernelFigures:
    """Return the figures of a kernel that Triton compiled.

    Args:
        compiled: result of ``triton.compile``.
        architecture: that it was compiled for.
    """
    if architecture.backend == "hip":
        text, binary = compiled.asm["amdgcn"], compiled.asm["hsaco"]
        registers, spills = _amd_registers(text)
    else:
        text, binary = compiled.asm["ptx"], compiled.asm["cubin"]
        registers, spills = _nvidia_registers(binary)
    found = matrix_instructions(text, architecture)
    return KernelFigures(
        name=compiled.metadata.name,
        num_registers=registers,
        num_spills=spills,
        shared_bytes=int(compiled.metadata.shared),
        num_matrix_instructions=len(found),
        matrix_instructions=tuple(sorted(set(found))),
        binary_bytes=len(binary),
    )


def matrix_instructions(text: str, architecture: Architecture) -> list[str]:
    """Return the names of all matrix instructions in an assembly text, in its order."""
    found = []
    for line in text.splitlines():
        code = line.split(";")[0] if architecture.backend == "hip" else line.split("//")[0]
        if re.search(architecture.matrix_pattern, code):
            found.append(_mnemonic(code))
    return found


def _mnemonic(code: str) -> str:
    # PTX may have a predicate first, and braces: "@%p1 wgmma.mma_async... {...}"
    words = [word for word in code.split() if not word.startswith(("@", "{"))]
    return words[0].rstrip(";")


def _amd_registers(text: str) -> tuple[int, int]:
    """Return registers and spilled registers from the metadata at the end of AMD assembly.

    ``.vgpr_count`` is the whole file of a thread on CDNA: accumulation registers included.
    """
    vector = _amd_field(text, "vgpr_count")
    spills = _amd_field(text, "vgpr_spill_count") + _amd_field(text, "sgpr_spill_count")
    return vector, spills


def _amd_field(text: str, name: str) -> int:
    match = re.search(rf"^\s*\.{name}:\s*(\d+)", text, re.MULTILINE)
    if match is None:
        raise ValueError(f"the assembly has no .{name}")
    return int(match.group(1))


def _nvidia_registers(binary: bytes) -> tuple[int, int]:
    """Return registers and words on the stack, by Triton's copy of cuobjdump."""
    import triton.backends.nvidia  # noqa: PLC0415 - there is none in builds for AMD alone

    tool = Path(triton.backends.nvidia.__file__).parent / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        done = subprocess.run(
            [str(tool), "--dump-resource-usage", file.name],
            capture_output=True,
            text=True,
            check=True,
            timeout=_TOOL_TIMEOUT_S,
        )
    return parse_resource_usage(done.stdout)


def parse_resource_usage(text: str) -> tuple[int, int]:
    """Return registers and 4-byte words on the stack from cuobjdump's text.

    Raises:
        ValueError: the text has no such figures.
    """
    registers = re.search(r"\bREG:(\d+)", text)
    stack = re.search(r"\bSTACK:(\d+)", text)
    if registers is None or stack is None:
        raise ValueError(f"cuobjdump printed no resource usage: {text[:200]!r}")
    return int(registers.group(1)), int(stack.group(1)) // 4
