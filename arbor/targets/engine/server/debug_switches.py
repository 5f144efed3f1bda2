"""Which profilers and debug options are on in this process: what nobody serves with."""

import os
import sys

import torch

_VARIABLES = (
    "CUDA_LAUNCH_BLOCKING",
    "AMD_SERIALIZE_KERNEL",
    "HSA_TOOLS_LIB",
    "MKL_VERBOSE",
    "ONEDNN_VERBOSE",
    "PYTHONASYNCIODEBUG",
    "PYTHONTRACEMALLOC",
    "TORCH_LOGS",
    "TORCH_SHOW_DISPATCH_TRACE",
)


def debug_switches(*, is_profiling: bool) -> list[str]:
    """Names of what is on.

    Args:
        is_profiling: whether the engine's own profiler runs.
    """
    on = {
        "engine profiler": is_profiling,
        "python dev mode": sys.flags.dev_mode,
        "python trace": sys.gettrace() is not None,
        "torch anomaly mode": torch.is_anomaly_enabled(),
    }
    variables = [name for name in _VARIABLES if os.environ.get(name, "0") not in {"", "0"}]
    return [name for name, is_on in on.items() if is_on] + variables
