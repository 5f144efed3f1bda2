"""The host at the moment when something broke: what a root cause may rest on."""

import shutil
from pathlib import Path

import psutil

from arbor.events.causes import HostFacts

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, not written


def host_facts(directory: Path) -> HostFacts:
    """Return free disk space, shared memory and memory; None for what cannot be read."""
    return HostFacts(
        disk_free_bytes=_free_bytes(directory),
        shared_memory_free_bytes=_free_bytes(_SHARED_MEMORY),
        memory_available_bytes=psutil.virtual_memory().available,
    )


def _free_bytes(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None
