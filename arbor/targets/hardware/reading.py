"""One look at the sensors of accelerators."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """Sensors of one device; None where it does not tell.

    Attributes:
        index: number of the device.
        clock_mhz: compute clock, the mean over the dies.
        clock_mhz_min: the slowest die's.
        power_w: power of the whole device at this moment.
        power_last_second_w: its mean over the last second.
        energy_j: energy since some fixed moment.
        temperature_c: of the hottest spot.
        memory_used_bytes: memory that is in use.
        is_throttled: whether power or heat lowers the clock at this moment.
        throttled: a counter of any unit that grows while power or heat lower the clock.
    """

    index: int
    clock_mhz: float | None = None
    clock_mhz_min: float | None = None
    power_w: float | None = None
    power_last_second_w: float | None = None
    energy_j: float | None = None
    temperature_c: float | None = None
    memory_used_bytes: int | None = None
    is_throttled: bool | None = None
    throttled: float | None = None


@dataclass(frozen=True, slots=True)
class Readings:
    """Sensors of all devices of a vendor.

    Attributes:
        devices: one reading per device; empty when nothing could be read.
        problem: why nothing could be read.
    """

    devices: tuple[Reading, ...] = ()
    problem: str = ""


Reader = Callable[[], Readings]
"""Looks at the sensors once; never raises."""
