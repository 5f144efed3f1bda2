"""Waiting for what real processes do, and for their end."""

import time
from collections.abc import Callable, Iterable

import psutil


def wait_until(is_so: Callable[[], bool], limit_s: float) -> None:
    """Wait until something is so; fail when it does not happen in time."""
    deadline_s = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline_s, "did not happen"
        time.sleep(0.02)


def all_gone(pids: Iterable[int]) -> bool:
    """Return whether none of some processes runs; one that nobody has waited for does not."""
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                return False
        except psutil.NoSuchProcess:
            continue
    return True
