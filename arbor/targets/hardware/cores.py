"""The cores that this process may run on."""

import os


def usable_cores() -> frozenset[int]:
    """Return the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def num_usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(usable_cores())
