"""Memory of accelerators before a server's start and after its end: left to us, and given back."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from arbor.targets.base import ServerFailedError
from arbor.targets.hardware.reading import Reader
from arbor.targets.vllm.device_ledger import DeviceLedger

_GIB = 2**30
_PAUSE_S = 0.5
_END_S = 10.0
_GROWTH_RATIO = 1.1
"""What a server may hold over what it held when it was ready: it allocates under load."""


@dataclass
class DeviceMemory:
    """Watches the devices of this process, of which a campaign's servers hold their parts.

    Attributes:
        read: looks at the sensors.
        devices: numbers of the devices in use; nothing is watched when there are none.
        max_foreign_bytes: what others may hold of a device.
        limit_s: how long memory may take to become free.
        pause: waits between two looks.
    """

    read: Reader
    devices: Collection[int]
    max_foreign_bytes: int
    limit_s: float
    pause: Callable[[float], None] = time.sleep

    @contextmanager
    def turn(self, ledger: DeviceLedger) -> Iterator[None]:
        """Keep other processes from starting servers on the devices meanwhile."""
        if not self.devices:
            yield
            return
        with ledger.turn():
            yield

    def check_free(self, ledger: DeviceLedger) -> dict[int, int]:
        """Wait until nobody else holds much of a device; return what is in use by device.

        A device whose memory cannot be read is left out: nothing is claimed of it.

        Raises:
            ServerFailedError: others held more all the time.
        """
        used, busy = self._settled(ledger, self.limit_s)
        if busy:
            told = ", ".join(f"device {d}: {b / _GIB:.1f} GiB" for d, b in busy.items())
            raise ServerFailedError(
                "start",
                f"device is busy: others hold memory before the start ({told}; "
                f"{self.max_foreign_bytes / _GIB:.1f} GiB are let pass)",
            )
        return used

    def started(
        self, ledger: DeviceLedger, name: str, pid: int, before: Mapping[int, int]
    ) -> None:
        """Note what a server took.

        Args:
            ledger: of the campaign.
            name: of the server.
            pid: its process.
            before: what ``check_free`` returned.
        """
        if before:
            now = self._used()
            ledger.note(name, pid, {d: max(now.get(d, b) - b, 0) for d, b in before.items()})

    def ended(self, ledger: DeviceLedger, name: str) -> int:
        """Wait until a server's memory is free again; return the bytes that were not given back.

        What is not given back counts as another's, so the next start is refused with the figure.
        """
        if not self.devices:
            return 0
        ledger.forget(name)
        # whoever starts next waits on
        return sum(self._settled(ledger, min(self.limit_s, _END_S))[1].values())

    def _settled(
        self, ledger: DeviceLedger, limit_s: float
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Return what is in use, and what others hold too much of when the time is over."""
        deadline_s = time.monotonic() + limit_s
        while True:
            used = self._used()
            own = ledger.held_bytes()
            foreign = {d: b - int(own.get(d, 0) * _GROWTH_RATIO) for d, b in used.items()}
            busy = {d: b for d, b in foreign.items() if b > self.max_foreign_bytes}
            if not busy or time.monotonic() > deadline_s:
                return used, busy
            self.pause(_PAUSE_S)

    def _used(self) -> dict[int, int]:
        if not self.devices:
            return {}
        return {
            reading.index: reading.memory_used_bytes
            for reading in self.read().devices
            if reading.index in self.devices and reading.memory_used_bytes is not None
        }
