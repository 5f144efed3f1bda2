"""Memory of accelerators before a server's start and after its end: left to us, and given back."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from arbor.targets.base import ServerFailedError
from arbor.targets.hardware.reading import Reader

_GIB = 2**30
_PAUSE_S = 0.5


@dataclass
class DeviceMemory:
    """Watches the devices of one process, and what its own servers hold of them.

    Not for use by several threads at once.

    Attributes:
        read: looks at the sensors.
        devices: numbers of the devices in use; nothing is watched when there are none.
        max_foreign_bytes: what others may hold of a device.
        limit_s: how long memory may take to become free.
    """

    read: Reader
    devices: Collection[int]
    max_foreign_bytes: int
    limit_s: float
    pause: Callable[[float], None] = time.sleep
    _own: dict[str, dict[int, int]] = field(default_factory=dict)

    def check_free(self) -> dict[int, int]:
        """Wait until nobody else holds much of a device; return what is in use by device.

        A device whose memory cannot be read is left out: nothing is claimed of it.

        Raises:
            ServerFailedError: others held more all the time.
        """
        deadline_s = time.monotonic() + self.limit_s
        while True:
            used = self._used()
            busy = {d: self._foreign(d, b) for d, b in used.items()}
            busy = {d: b for d, b in busy.items() if b > self.max_foreign_bytes}
            if not busy:
                return used
            if time.monotonic() > deadline_s:
                told = ", ".join(f"device {d}: {b / _GIB:.1f} GiB" for d, b in busy.items())
                raise ServerFailedError(
                    "start",
                    f"device is busy: others hold memory before the start ({told}; "
                    f"{self.max_foreign_bytes / _GIB:.1f} GiB are let pass)",
                )
            self.pause(_PAUSE_S)

    def started(self, name: str, before: Mapping[int, int]) -> None:
        """Note what a server took.

        Args:
            name: of the server.
            before: what ``check_free`` returned.
        """
        if before:
            now = self._used()
            self._own[name] = {d: max(now.get(d, b) - b, 0) for d, b in before.items()}

    def ended(self, name: str) -> int:
        """Wait until a server's memory is free again; return the bytes that were not given back.

        What is not given back counts as another's, so the next start is refused with the figure.
        """
        taken = self._own.pop(name, None)
        if not taken:
            return 0
        deadline_s = time.monotonic() + self.limit_s
        while True:
            used = self._used()
            kept = sum(
                self._foreign(device, used[device])
                for device in taken
                if device in used and self._foreign(device, used[device]) > self.max_foreign_bytes
            )
            if not kept or time.monotonic() > deadline_s:
                return kept
            self.pause(_PAUSE_S)

    def _foreign(self, device: int, used_bytes: int) -> int:
        return max(used_bytes - sum(own.get(device, 0) for own in self._own.values()), 0)

    def _used(self) -> dict[int, int]:
        if not self.devices:
            return {}
        return {
            reading.index: reading.memory_used_bytes
            for reading in self.read().devices
            if reading.index in self.devices and reading.memory_used_bytes is not None
        }
