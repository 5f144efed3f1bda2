"""What a node says about itself: versions, accelerators, what Ray needs to see them."""

import os
import platform
import socket
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from arbor import __version__
from arbor.targets.devices import AMD_MASK
from arbor.targets.hardware import probe_hardware


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node as a process on it sees it.

    Attributes:
        host: its name.
        python: version of the interpreter.
        ray: version of Ray.
        arbor: version of Arbor.
        kind: ``cpu``, ``amd`` or ``nvidia``.
        num_devices: accelerators that the vendor's tools or the kernel show.
        device_name: of the first; empty when no tool described it.
        has_amdsmi: Ray counts AMD accelerators through this package alone.
        niceness: that servers started here would inherit.
        masks: variables that hide accelerators from this process.
    """

    host: str
    python: str
    ray: str
    arbor: str
    kind: str
    num_devices: int
    device_name: str
    has_amdsmi: bool
    niceness: int
    masks: tuple[str, ...]

    @property
    def versions(self) -> tuple[str, str, str]:
        """What must be the same on all nodes."""
        return self.python, self.ray, self.arbor


def describe_node() -> NodeFacts:
    """Return the facts of the machine and environment that this process runs in."""
    hardware = probe_hardware()
    return NodeFacts(
        host=socket.gethostname(),
        python=platform.python_version(),
        ray=_version("ray"),
        arbor=__version__,
        kind=hardware.kind,
        num_devices=hardware.num_devices,
        device_name=hardware.devices[0].name if hardware.devices else "",
        has_amdsmi=find_spec("amdsmi") is not None,
        niceness=os.nice(0),
        masks=tuple(
            f"{name}={os.environ[name]}"
            for name in (AMD_MASK, "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
            if name in os.environ
        ),
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def differing(nodes: dict[str, NodeFacts], own: NodeFacts) -> str | None:
    """Return which node has other versions than the driver, in one line with the fix, or None."""
    for name, facts in nodes.items():
        if facts.versions != own.versions:
            here, there = (_versions(each) for each in (own, facts))
            return f"node {name} has {there}, the driver {here}; install the same on all nodes"
    return None


def _versions(facts: NodeFacts) -> str:
    python, ray, arbor = facts.versions
    return f"Python {python}, Ray {ray}, Arbor {arbor}"
