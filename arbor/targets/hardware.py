"""What machine this is; AMD and NVIDIA devices are counted where their files show them."""

import os
import platform
import socket
from pathlib import Path

import psutil

from arbor.events.types import Hardware


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def usable_cores() -> frozenset[int]:
    """Return the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def num_usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(usable_cores())


def probe_hardware() -> Hardware:
    """Return the machine as this process sees it."""
    num_nvidia = len(list(Path("/dev").glob("nvidia[0-9]*")))
    num_amd = sum(
        1
        for node in Path("/sys/class/kfd/kfd/topology/nodes").glob("*/simd_count")
        if node.read_text().strip() != "0"
    )
    kind = "amd" if num_amd else "nvidia" if num_nvidia else "cpu"
    return Hardware(
        host=socket.gethostname(),
        kind=kind,
        device_name=_cpu_name(),
        num_cores=num_usable_cores(),
        memory_bytes=int(psutil.virtual_memory().total),
        num_devices=num_amd or num_nvidia,
    )
