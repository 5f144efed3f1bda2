"""Sensors of the pretended accelerator that the fake vLLM uses."""

from pathlib import Path

from arbor.targets.hardware.reading import Reading, Readings


class DeviceFile:
    """Reads the file with the held bytes as the sensors of device 0."""

    def __init__(self, path: Path, held_bytes: int = 0) -> None:
        self.path = path
        path.write_text(str(held_bytes))

    def __call__(self) -> Readings:
        """Look once."""
        held = int(self.path.read_text() or 0)
        return Readings((Reading(0, memory_used_bytes=held, clock_mhz=1000.0),))
