"""Memory of everything that a campaign runs: the driver, Ray and the servers."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import psutil

SAMPLE_S = 2.0


def _proportional_bytes(pid: int) -> int:
    """Return a process's memory, pages shared by n processes counted as 1/n (PSS)."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return int(psutil.Process(pid).memory_info().rss)


def resident_bytes(root_pid: int) -> int:
    """Return the resident bytes of a process tree, and of children that left it.

    Guarded servers leave the tree by a double fork but stay in a worker's process group. Pages
    that processes share count once in all.
    """
    total = 0
    root = psutil.Process(root_pid)
    tree = [root, *root.children(recursive=True)]
    groups = set()
    for process in tree:
        with suppress(OSError):
            groups.add(os.getpgid(process.pid))
    seen = {process.pid for process in tree}
    for process in psutil.process_iter(["pid"]):
        with suppress(psutil.Error, OSError):
            if process.pid in seen or os.getpgid(process.pid) in groups:
                total += _proportional_bytes(process.pid)
    return total


class PeakMemory:
    """Samples the resident bytes of this process and all it started, in a thread."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True, name="peak-memory")
        self._thread.start()

    def _sample(self) -> None:
        while not self._is_done.is_set():
            with suppress(psutil.Error):
                self.peak_bytes = max(self.peak_bytes, resident_bytes(os.getpid()))
            self._is_done.wait(SAMPLE_S)

    def stop(self) -> int:
        """End the sampling and return the peak."""
        self._is_done.set()
        self._thread.join(timeout=SAMPLE_S * 2)
        return self.peak_bytes
