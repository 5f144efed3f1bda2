"""The processor's own sensors: clock, energy and throttling, from the kernel's files."""

from pathlib import Path
from statistics import fmean

from arbor.targets.hardware.reading import Reading, Readings
from arbor.targets.machine_counters import read_machine_counters

_SYS = Path("/sys")


class ProcessorReader:
    """Reads the sensors of all processors as those of one device, number 0.

    Args:
        sys_folder: where the kernel's files are.
    """

    def __init__(self, sys_folder: Path = _SYS) -> None:
        self._sys_folder = sys_folder

    def __call__(self) -> Readings:
        """Look once."""
        counters = read_machine_counters(self._sys_folder)
        clocks_mhz = self._clocks_mhz()
        num = counters.num_throttlings
        reading = Reading(
            index=0,
            clock_mhz=fmean(clocks_mhz) if clocks_mhz else None,
            clock_mhz_min=min(clocks_mhz, default=None),
            energy_j=counters.energy_j,
            throttled=float(num) if num is not None else None,
        )
        return Readings((reading,))

    def _clocks_mhz(self) -> list[float]:
        paths = self._sys_folder.glob("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
        found = []
        for path in paths:
            try:
                found.append(int(path.read_text(encoding="ascii")) / 1e3)
            except (OSError, ValueError):
                continue
        return found
