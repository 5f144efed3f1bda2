"""Processor time of a server, of this process and of everything else in a window."""

import time
from collections.abc import Sequence

import psutil

from arbor.targets.child import ChildProcess
from arbor.targets.hardware import usable_cores


class ProcessorClock:
    """Only the cores that this process, and so its server, may use are looked at.

    Args:
        child: the server.
        others: servers whose work is neither the server's nor foreign.
    """

    def __init__(self, child: ChildProcess, others: Sequence[ChildProcess] = ()) -> None:
        self._child = child
        self._others = others
        self._cores = usable_cores()
        self._started = self._now()

    def _now(self) -> tuple[float, float, float, float, float]:
        times = psutil.cpu_times(percpu=True)
        busy_s = sum(
            t.user + t.nice + t.system + t.irq + t.softirq + t.steal
            for core, t in enumerate(times)
            if core in self._cores
        )
        others_s = sum(child.cpu_seconds() for child in self._others)
        server_s = self._child.cpu_seconds()
        return time.perf_counter(), busy_s, server_s, time.process_time(), others_s

    def read(self) -> tuple[float, float]:
        """Return the server's processor seconds and the foreign share of the cores."""
        pairs = zip(self._started, self._now(), strict=True)
        wall_s, busy_s, server_s, own_s, others_s = (max(now - then, 0.0) for then, now in pairs)
        capacity_s = max(wall_s, 1e-9) * len(self._cores)
        foreign = (busy_s - server_s - own_s - others_s) / capacity_s
        return server_s, min(max(foreign, 0.0), 1.0)
