"""AMD devices by the files of the kernel's compute driver (KFD)."""

from dataclasses import dataclass
from pathlib import Path

from arbor.targets.hardware.quantity import integer_of

TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True, slots=True)
class KfdNode:
    """One device or partition.

    Attributes:
        number: number of the node.
        architecture: ``gfx942``; empty when the driver does not tell.
        num_compute_dies: compute dies (XCDs).
    """

    number: int
    architecture: str
    num_compute_dies: int | None


def read_nodes(topology: Path = TOPOLOGY) -> tuple[KfdNode, ...]:
    """Return the nodes that are GPUs; processors are nodes without SIMD units."""
    nodes = []
    for path in topology.glob("*/properties"):
        number = integer_of(path.parent.name)
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        fields = dict(parts for line in lines if len(parts := line.split(maxsplit=1)) == 2)
        if number is None or not integer_of(fields.get("simd_count")):
            continue
        version = integer_of(fields.get("gfx_target_version"))
        dies = integer_of(fields.get("num_xcc"))
        nodes.append(KfdNode(number, _gfx_name(version), dies or None))
    return tuple(sorted(nodes, key=lambda node: node.number))


def _gfx_name(version: int | None) -> str:
    """Return ``gfx942`` of 90402: major, minor and stepping, two decimal digits each."""
    if not version or version < 0:
        return ""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
