"""Which accelerators a process and its servers may see: one mask, never two that disagree."""

import os
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path

from arbor.core.fitting import fitting_actions
from arbor.events.errors import InvalidInputError
from arbor.events.types import ActionTemplate, Hardware
from arbor.targets.base import DeviceTarget, Target, num_devices_of

AMD_MASK = "HIP_VISIBLE_DEVICES"
NVIDIA_MASK = "CUDA_VISIBLE_DEVICES"
_AMD_DRIVER = Path("/dev/kfd")


def mask_name(amd_driver: Path = _AMD_DRIVER) -> str:
    """Return the variable that this machine's runtime obeys."""
    return AMD_MASK if amd_driver.exists() else NVIDIA_MASK


def show_devices(
    devices: Sequence[str],
    environment: MutableMapping[str, str] = os.environ,
    name: str | None = None,
) -> None:
    """Let this process and its servers see these accelerators and no others.

    PyTorch for ROCm obeys either variable and fails where they disagree, so one is left.

    Args:
        devices: names, ``<node>:<index>``; the index is what the runtime counts.
        environment: what is changed.
        name: the mask's variable; None for this machine's.
    """
    chosen = name or mask_name()
    for other in (AMD_MASK, NVIDIA_MASK):
        environment.pop(other, None)
    environment[chosen] = ",".join(device.rpartition(":")[2] for device in devices)


def server_mask(environment: Mapping[str, str], name: str | None = None) -> dict[str, str]:
    """Return the one variable that a server inherits; nothing where nobody set a mask.

    Args:
        environment: of the process that starts the server.
        name: the variable that wins where several are set; None for this machine's.
    """
    found = {key: environment[key] for key in (AMD_MASK, NVIDIA_MASK) if key in environment}
    if len(found) < 2:
        return found
    chosen = name or mask_name()
    return {chosen: found[chosen]}


def num_visible(environment: Mapping[str, str]) -> int | None:
    """Return how many accelerators a mask shows; None without a mask."""
    values = [*server_mask(environment).values()]
    return len([part for part in values[0].split(",") if part]) if values else None


def devices_per_server(target: Target, max_server_devices: int) -> int:
    """Return the accelerators that every server of a campaign may take.

    Args:
        target: what is served.
        max_server_devices: of the campaign's search settings; 0: as many as the baseline.

    Raises:
        InvalidInputError: the baseline itself takes more.
    """
    needed = num_devices_of(target, target.baseline_config())
    if max_server_devices and max_server_devices < needed:
        raise InvalidInputError(
            f"search.max_server_devices is {max_server_devices}, and the baseline takes {needed} "
            "accelerators; raise it, or leave it out"
        )
    return max(needed, max_server_devices) if needed else 0


def catalog_of(
    target: Target, hardware: Hardware, max_server_devices: int
) -> tuple[ActionTemplate, ...]:
    """Return the target's actions whose servers stay within their accelerators.

    Raises:
        InvalidInputError: the baseline takes more than it may.
    """
    templates = tuple(target.actions(hardware))
    if not isinstance(target, DeviceTarget):
        return templates
    limit = devices_per_server(target, max_server_devices)
    return fitting_actions(templates, target.baseline_config(), target.num_devices, limit)


def require_devices(hardware: Hardware, num_devices: int) -> None:
    """Check that this machine has the accelerators of one server.

    Raises:
        InvalidInputError: it has not.
    """
    if hardware.num_devices >= num_devices:
        return
    unseen = "; ".join(f"{gap.what}: {gap.reason}" for gap in hardware.not_observed)
    why = f" ({unseen})" if unseen and not hardware.num_devices else ""
    raise InvalidInputError(
        f"a server of this campaign takes {num_devices} accelerators and this machine has "
        f"{hardware.num_devices}{why}; run it where they are, or name a cluster that has them in "
        "RAY_ADDRESS"
    )
