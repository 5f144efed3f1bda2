"""Puts together what this machine is."""

import socket

import psutil

from arbor.events.types import Hardware
from arbor.targets.hardware.amd import find_amd
from arbor.targets.hardware.cores import num_usable_cores
from arbor.targets.hardware.limits import read_limits
from arbor.targets.hardware.nvidia import find_nvidia
from arbor.targets.hardware.processor import read_processor


def probe_hardware() -> Hardware:
    """Return the machine as this process sees it.

    Every vendor's tool has a time limit; what it does not tell is in ``not_observed``.
    """
    processor, limits = read_processor(), read_limits()
    amd, nvidia = find_amd(), find_nvidia()
    kind = "amd" if amd.num_devices else "nvidia" if nvidia.num_devices else "cpu"
    found = amd if amd.num_devices else nvidia
    return Hardware(
        host=socket.gethostname(),
        kind=kind,
        device_name=processor.name,
        num_cores=num_usable_cores(),
        memory_bytes=int(psutil.virtual_memory().total),
        num_devices=found.num_devices,
        devices=found.devices,
        driver_version=found.driver_version,
        runtime_version=found.runtime_version,
        num_sockets=processor.num_sockets,
        num_physical_cores=processor.num_physical_cores,
        num_numa_nodes=processor.num_numa_nodes,
        isa_flags=processor.isa_flags,
        memory_limit_bytes=limits.memory_bytes,
        cpu_limit_cores=limits.cores,
        not_observed=(*amd.not_observed, *nvidia.not_observed),
    )
