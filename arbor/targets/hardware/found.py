"""What one vendor's tools showed."""

from dataclasses import dataclass

from arbor.events.types import Accelerator, NotObserved


@dataclass(frozen=True, slots=True)
class Found:
    """The accelerators of one vendor.

    Attributes:
        devices: those that a tool described.
        num_present: those that the kernel's files show, described or not.
        driver_version: version of the kernel driver.
        runtime_version: version of ROCm or CUDA, with its name.
        not_observed: what no tool could tell, and why.
    """

    devices: tuple[Accelerator, ...] = ()
    num_present: int = 0
    driver_version: str = ""
    runtime_version: str = ""
    not_observed: tuple[NotObserved, ...] = ()

    @property
    def num_devices(self) -> int:
        """The number of accelerators."""
        return len(self.devices) or self.num_present


def gaps_of(tool: str, devices: tuple[Accelerator, ...]) -> tuple[NotObserved, ...]:
    """Return what a tool left open about the devices that it listed."""
    return tuple(
        NotObserved(what=f"{what} of device {device.index}", reason=f"{tool} does not tell")
        for device in devices
        for what, value in (
            ("architecture", device.architecture),
            ("memory", device.memory_bytes),
            ("uuid", device.uuid),
        )
        if value in {None, ""}
    )
