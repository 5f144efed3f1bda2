"""Applies the dispatch switches: what the process asks of the machine and the interpreter."""

import ctypes
import gc
import os
import sys

import torch

from arbor.targets.engine.server.settings import DispatchSettings
from arbor.targets.engine.server.witness import Witness

# Parameters of glibc's mallopt, from malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_KEEP_BYTES = 256 << 20


def apply_before_load(settings: DispatchSettings, witness: Witness) -> None:
    """Set threads, affinity, allocator, denormals and the interpreter's switch interval."""
    torch.set_num_threads(settings.threads)
    witness.count(f"threads.{settings.threads}")
    if settings.affinity == "pinned":
        # The last allowed cores: the first ones serve most interrupts.
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[-settings.threads :])
        witness.count("affinity.pinned")
    if settings.malloc == "arena_tuned" and _tune_malloc():
        witness.count("malloc.arena_tuned")
    if settings.denormals == "flushed" and torch.set_flush_denormal(True):
        witness.count("denormals.flushed")
    sys.setswitchinterval(settings.switch_interval_us / 1e6)


def apply_after_load(settings: DispatchSettings, witness: Witness) -> None:
    """Set up garbage collection once the long-lived objects exist."""
    if settings.gc == "off":
        gc.disable()
    elif settings.gc == "frozen":
        gc.collect()
        gc.freeze()
    witness.count(f"gc.{settings.gc}")


def _tune_malloc() -> bool:
    """One arena, and freed memory stays with the process instead of going back by munmap."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    wishes = (
        (_M_ARENA_MAX, 1),
        (_M_MMAP_THRESHOLD, _KEEP_BYTES),
        (_M_TRIM_THRESHOLD, _KEEP_BYTES),
    )
    return all(mallopt(name, value) == 1 for name, value in wishes)
