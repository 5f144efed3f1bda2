"""What this machine is: processor, control groups, accelerators, their peaks and telemetry."""

from arbor.targets.hardware.cores import num_usable_cores, usable_cores
from arbor.targets.hardware.probe import probe_hardware

__all__ = ["num_usable_cores", "probe_hardware", "usable_cores"]
