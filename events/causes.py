"""Vocabulary of root causes: whose fault, which family, which layer, what is done about it."""

from typing import Literal

from pydantic import Field

from arbor.events.types import Value


class LogLine(Value):
    """A line of a log and its number, counted from 1."""

    number: int = Field(ge=0)
    """0 for what did not come from the log."""
    text: str


class HostFacts(Value):
    """State of the host when something broke; None where it could not be read."""

    disk_free_bytes: int | None = None
    """Of the file system that holds the campaign."""
    shared_memory_free_bytes: int | None = None
    """Of /dev/shm."""
    memory_available_bytes: int | None = None


Fault = Literal["idea", "implementation", "environment", "unknown"]
"""Whose fault a failure is.

``idea``: the same idea would fail here again however it is built. ``implementation``: another way
to build or set it may work. ``environment``: the same attempt may work on a clean place.
"""
CauseGroup = Literal[
    "bad_flag",
    "compiler",
    "dependency_or_version",
    "driver_or_hardware",
    "graph_capture",
    "hang_or_timeout",
    "implementation_error",
    "kernel_shape_or_layout",
    "leftover_state",
    "measurement",
    "memory_fault",
    "model_config",
    "network",
    "numerics",
    "oom",
    "performance",
    "permission",
    "stale_cache",
    "storage_full",
    "unsupported_arch",
    "unknown",
]
"""Families of causes."""
CauseLayer = Literal[
    "application",
    "framework",
    "compiler",
    "kernel",
    "communication",
    "dispatch",
    "hardware",
    "",
]
"""Layer in which something broke; empty when that is not known."""
RemedyStep = Literal["none", "retry", "end_leftovers", "remove_locks", "clear_caches", "free_disk"]
"""What Arbor itself does before an attempt is repeated; ``none`` when nothing would help."""
