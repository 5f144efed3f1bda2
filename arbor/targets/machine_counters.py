"""What the machine itself counts: throttling and energy; None where it does not tell."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SYS = Path("/sys")


@dataclass(frozen=True, slots=True)
class MachineCounters:
    """Totals since the machine's start.

    Attributes:
        num_throttlings: times that heat lowered the clock of a core.
        energy_j: energy of all packages.
    """

    num_throttlings: int | None
    energy_j: float | None

    def since(self, earlier: "MachineCounters") -> "MachineCounters":
        """Return the growth; an energy counter that ran over gives None."""
        num, energy_j = self.num_throttlings, self.energy_j
        if num is not None and earlier.num_throttlings is not None:
            num -= earlier.num_throttlings
        if energy_j is not None and earlier.energy_j is not None:
            energy_j -= earlier.energy_j
        return MachineCounters(num, energy_j if energy_j is not None and energy_j >= 0 else None)


def read_machine_counters(sys_folder: Path = _SYS) -> MachineCounters:
    """Read Linux's thermal throttle counters and its power capping zones (Intel, AMD)."""
    throttled = _integers(
        sys_folder.glob("devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
    )
    energies_uj = _integers(sys_folder.glob("class/powercap/intel-rapl:[0-9]/energy_uj"))
    return MachineCounters(
        num_throttlings=sum(throttled) if throttled else None,
        energy_j=sum(energies_uj) / 1e6 if energies_uj else None,
    )


def _integers(paths: Iterable[Path]) -> list[int]:
    """Return what can be read; the energy counters are root's on many machines."""
    found = []
    for path in paths:
        try:
            found.append(int(path.read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return found
