"""What ails the host of a campaign's servers, seen and cleaned from time to time."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from arbor.actors.place import Place
from arbor.actors.remedies import carry_out
from arbor.core.state import CampaignState
from arbor.events.life import HealthCondition, HealthReported
from arbor.targets.hardware.reading import Reader, Readings
from arbor.targets.host_state import host_facts
from arbor.targets.leftovers import end_leftovers, leftovers, servers_of

LOOK_S = 30.0
"""Pause between two looks; the first one is free, so that a restart cleans up at once."""
MIN_DISK_BYTES = 1 << 30
"""Less free disk than this stops a campaign soon: logs, checkouts, compile caches."""
MAX_CLOCK_JUMP_S = 30.0
"""A clock of the day that moved by more than the monotonic one was set, or the host slept."""
MAX_IDLE_DEVICE_BYTES = 2 << 30
"""A driver and a desktop hold less of a device while no server runs."""


def no_devices() -> Readings:
    """Return that there are no accelerators."""
    return Readings()


@dataclass
class Sentry:
    """Looks at disk, leaked servers, their ports, idle devices and the clock.

    It ends nothing but servers of this campaign that no guard watches, and these only when it
    has seen them twice: a server on its way up has its guard a moment later. What others hold is
    told, and left alone.

    Attributes:
        place: where the servers run.
        read_devices: looks at the sensors of accelerators.
        min_disk_bytes: free disk that is enough.
        monotonic: seconds that never jump.
        wall: seconds of the clock of the day.
    """

    place: Place
    read_devices: Reader = no_devices
    min_disk_bytes: int = MIN_DISK_BYTES
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    _next_s: float = float("-inf")
    _suspects: set[tuple[int, float]] = field(default_factory=set)
    _clocks: tuple[float, float] | None = None

    def look(self, state: CampaignState) -> tuple[HealthReported, ...]:
        """Return what to report now; empty while it is not time, or nothing has changed."""
        now_s = self.monotonic()
        if now_s < self._next_s:
            return ()
        self._next_s = now_s + LOOK_S
        return (
            *self._look_at_disk(state),
            *self._look_at_servers(state),
            *self._look_at_devices(state),
            *self._look_at_clock(state),
        )

    def _look_at_disk(self, state: CampaignState) -> Iterator[HealthReported]:
        free_bytes = host_facts(self.place.directory).disk_free_bytes
        if free_bytes is None:
            return
        detail = f"{free_bytes / 1e9:.2f} GB of the disk are free"
        if free_bytes >= self.min_disk_bytes:
            yield from self._over(state, "disk", detail)
            return
        cleaned = carry_out("free_disk", self.place, state)
        # what could not be cleaned is told once, what was cleaned every time
        if cleaned or not state.vitals.is_reported("disk", self.place.host):
            fix = f"; {self.min_disk_bytes / 1e9:.2f} GB are wanted: delete or move files"
            yield self._report("disk", detail + fix, cleaned)

    def _look_at_servers(self, state: CampaignState) -> Iterator[HealthReported]:
        """End a leaked server when it is seen again; tell the ports that it held."""
        found = {}
        for process in leftovers(self.place.directory):
            with suppress(psutil.Error):
                found[process.pid, process.create_time()] = _ports(process)
        seen_again = self._suspects & found.keys()
        self._suspects = set(found)
        if not seen_again:
            if not found:
                yield from self._over(state, "leaked_server", "no server is left without a guard")
                yield from self._over(state, "port", "no leaked server holds a port")
            return
        ports = sorted({port for key in seen_again for port in found[key]})
        ended = end_leftovers(self.place.directory)
        self._suspects = set()
        cleaned = tuple(f"ended process {pid}" for pid in ended)
        names = ", ".join(str(pid) for pid, _ in sorted(seen_again))
        yield self._report(
            "leaked_server", f"servers of this campaign ran without a guard: {names}", cleaned
        )
        if ports:
            held = ", ".join(map(str, ports))
            yield self._report("port", f"leaked servers held the ports {held}", cleaned)

    def _look_at_devices(self, state: CampaignState) -> Iterator[HealthReported]:
        """Tell memory that is held while no server of this campaign runs."""
        if any(True for _ in servers_of(self.place.directory)):
            return
        # others may work on the devices beside a seat
        seat = {int(name.rpartition(":")[2]) for name in self.place.devices}
        held = {
            reading.index: reading.memory_used_bytes
            for reading in self.read_devices().devices
            if (not seat or reading.index in seat)
            and (reading.memory_used_bytes or 0) > MAX_IDLE_DEVICE_BYTES
        }
        if not held:
            yield from self._over(state, "device_memory", "idle devices hold nothing")
        elif not state.vitals.is_reported("device_memory", self.place.host):
            told = ", ".join(f"device {i}: {b / 2**30:.1f} GiB" for i, b in held.items() if b)
            yield self._report(
                "device_memory",
                f"held while no server of this campaign runs: {told}; it is not Arbor's, so it is"
                " left alone: end who holds it",
            )

    def _look_at_clock(self, state: CampaignState) -> Iterator[HealthReported]:
        """Tell a jump of the clock of the day; nothing is measured with it."""
        before, self._clocks = self._clocks, (self.monotonic(), self.wall())
        if before is None:
            return
        jump_s = (self._clocks[1] - before[1]) - (self._clocks[0] - before[0])
        if abs(jump_s) > MAX_CLOCK_JUMP_S:
            yield self._report(
                "clock", f"the clock of the day jumped by {jump_s:+.0f} s; windows do not use it"
            )
        else:
            yield from self._over(state, "clock", "the clock runs evenly")

    def _report(
        self, condition: HealthCondition, detail: str, cleaned: tuple[str, ...] = ()
    ) -> HealthReported:
        return HealthReported(
            condition=condition,
            subject=self.place.host,
            is_healthy=False,
            detail=detail,
            cleaned=cleaned,
        )

    def _over(
        self, state: CampaignState, condition: HealthCondition, detail: str
    ) -> Iterator[HealthReported]:
        """Yield the end of a condition that was reported."""
        if state.vitals.is_reported(condition, self.place.host):
            yield HealthReported(
                condition=condition, subject=self.place.host, is_healthy=True, detail=detail
            )


def _ports(process: psutil.Process) -> tuple[int, ...]:
    """Return the TCP ports that a process and its children listen on."""
    found = set()
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):
            listening = (c for c in each.net_connections("tcp") if c.status == psutil.CONN_LISTEN)
            found |= {connection.laddr.port for connection in listening}
    return tuple(sorted(found))
