"""Applies the dispatch switches: what the process asks of the machine and the interpreter."""

import ctypes
import gc
import os
import sys
from pathlib import Path

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
    if settings.malloc == "huge_pages" and _has_huge_pages():
        witness.count("malloc.huge_pages")
    if _is_loaded(f"lib{settings.allocator}"):
        witness.count(f"allocator.{settings.allocator}")
    if settings.denormals == "flushed" and torch.set_flush_denormal(True):
        witness.count("denormals.flushed")
    sys.setswitchinterval(settings.switch_interval_us / 1e6)


def place_threads(settings: DispatchSettings, engine_thread_id: int, witness: Witness) -> None:
    """Give the engine's thread the last cores and the calling one, the front's, the others.

    The threads that PyTorch adds to the engine's later are placed like it.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if settings.affinity != "apart" or len(allowed) <= settings.threads:
        return
    os.sched_setaffinity(engine_thread_id, allowed[-settings.threads :])
    os.sched_setaffinity(0, allowed[: -settings.threads])
    witness.count("affinity.apart")


def apply_after_load(settings: DispatchSettings, witness: Witness) -> None:
    """Set up garbage collection once the long-lived objects exist."""
    if settings.gc == "off":
        gc.disable()
    elif settings.gc == "frozen":
        gc.collect()
        gc.freeze()
    witness.count(f"gc.{settings.gc}")


def _is_loaded(library: str) -> bool:
    """Whether a library was put in front: its file is mapped."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    except OSError:
        return False
    return any(f"/{library}" in line for line in maps.splitlines())


def _has_huge_pages() -> bool:
    """Whether glibc was started to ask for huge pages and the system grants them."""
    if "glibc.malloc.hugetlb=1" not in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        mode = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="utf-8")
    except OSError:
        return False
    return "[never]" not in mode


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
