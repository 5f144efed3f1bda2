"""The processor by the kernel's files: model, sockets, cores, NUMA nodes, instruction sets."""

import platform
import re
from dataclasses import dataclass
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_NODES = Path("/sys/devices/system/node")
_ISA = re.compile(r"avx\w*|amx\w*|fma|f16c|vnni|asimd\w*|sve\w*|sme|sme2\w*|bf16|i8mm")


@dataclass(frozen=True, slots=True)
class Processor:
    """The processors of a machine; None and empty where the files do not tell.

    Attributes:
        name: model.
        num_sockets: processors.
        num_physical_cores: cores, without their second threads.
        num_numa_nodes: memory domains.
        isa_flags: instruction sets that matter to kernels, sorted.
    """

    name: str
    num_sockets: int | None
    num_physical_cores: int | None
    num_numa_nodes: int | None
    isa_flags: tuple[str, ...]


def read_processor(cpuinfo: Path = _CPUINFO, nodes: Path = _NODES) -> Processor:
    """Return the processors.

    Args:
        cpuinfo: the kernel's list of logical processors.
        nodes: the kernel's folder of memory domains.
    """
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    blocks = [_fields(block) for block in text.split("\n\n") if block.strip()]
    first = blocks[0] if blocks else {}
    sockets = {fields["physical id"] for fields in blocks if "physical id" in fields}
    cores = {
        (fields["physical id"], fields["core id"])
        for fields in blocks
        if "physical id" in fields and "core id" in fields
    }
    # x86 says flags, Arm says Features
    flags = first.get("flags", first.get("Features", "")).split()
    return Processor(
        name=first.get("model name") or platform.processor() or platform.machine(),
        num_sockets=len(sockets) or None,
        num_physical_cores=len(cores) or None,
        num_numa_nodes=len(list(nodes.glob("node[0-9]*"))) or None,
        isa_flags=tuple(sorted(flag for flag in set(flags) if _ISA.fullmatch(flag))),
    )


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
