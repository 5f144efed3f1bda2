"""The accelerators that servers of this process run on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbor.events.types import Accelerator
from arbor.targets.hardware.amd import find_amd
from arbor.targets.hardware.nvidia import find_nvidia
from arbor.targets.hardware.reading import Reader
from arbor.targets.hardware.telemetry import reader_of

_MASKS = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@dataclass(frozen=True, slots=True)
class Devices:
    """Accelerators of one vendor, as far as a mask leaves them to this process.

    Attributes:
        numbers: as the vendor's tool numbers them; empty without accelerators.
        read: looks at their sensors.
    """

    numbers: frozenset[int]
    read: Reader


def find_devices(env: Mapping[str, str]) -> Devices:
    """Return the accelerators in use.

    Args:
        env: environment of this process, whose masks the servers inherit.
    """
    for kind, find in (("amd", find_amd), ("nvidia", find_nvidia)):
        found = find()
        if found.devices:
            return Devices(visible(found.devices, env), reader_of(kind))
    return Devices(frozenset(), reader_of("cpu"))


def visible(devices: Sequence[Accelerator], env: Mapping[str, str]) -> frozenset[int]:
    """Return the numbers of the devices that a mask leaves; all without a mask.

    Args:
        devices: of the machine.
        env: holds the masks: numbers or UUIDs.
    """
    everything = frozenset(device.index for device in devices)
    for name in _MASKS:
        words = [word.strip() for word in env.get(name, "").split(",") if word.strip()]
        if words:
            chosen = {
                device.index
                for device in devices
                for word in words
                if word == str(device.index) or (device.uuid and device.uuid.startswith(word))
            }
            return frozenset(chosen)
    return everything
