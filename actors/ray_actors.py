"""The actors' processes as classes for Ray, and how they reach the keeper and their devices."""

import re
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError

from arbor.actors.keeper import KeptLog
from arbor.actors.processes import (
    AdviserProcess,
    BenchProcess,
    ReactorProcess,
    SpecialistProcess,
)
from arbor.core.layout import CampaignDirectory
from arbor.events.errors import LogError
from arbor.targets.devices import show_devices

KEEPER_NAME = "keeper"
"""Actors find the keeper by name within the campaign's namespace."""
DEVICE_RESOURCE = "GPU"
"""What Ray calls accelerators of both vendors."""
_NODE_DIGITS = 8
"""Of a node's id, in the names of its devices."""


def namespace(campaign_id: str) -> str:
    """Return the namespace of a campaign's named actors."""
    return f"arbor-{campaign_id}"


def what_happened(error: BaseException) -> str:
    """Return the line of a Ray error that says it: the last one of a traceback, or the first."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    has_traceback = any(line.startswith("  File ") for line in lines)
    line = lines[-1 if has_traceback else 0].strip()
    return re.sub(r"^arbor\.[\w.]+: ", "", line)


class CallKeeper:
    """Calls the keeper actor; a restarted keeper answers the same call again."""

    def __init__(self, campaign_id: str) -> None:
        self._keeper = ray.get_actor(KEEPER_NAME, namespace=namespace(campaign_id))

    def __call__(self, method: str, *args: Any) -> Any:
        """Return the value of a keeper's method.

        Raises:
            LogError: the keeper is gone for good, or could not open the log.
        """
        try:
            return ray.get(getattr(self._keeper, method).remote(*args))
        except RayActorError as error:
            raise LogError(f"the keeper of the log is gone: {what_happened(error)}") from error


def kept_log(directory: Path, campaign_id: str) -> KeptLog:
    """Return the log of a campaign whose keeper lives in this cluster."""
    return KeptLog(CampaignDirectory(directory).log, CallKeeper(campaign_id))


def _own_devices() -> tuple[str, ...]:
    """Return the names of the accelerators that Ray gave this process, and show it no others.

    Indices repeat from node to node, so the node is part of the name.
    """
    context = ray.get_runtime_context()
    node = context.get_node_id()[:_NODE_DIGITS]
    indices = context.get_accelerator_ids().get(DEVICE_RESOURCE, [])
    devices = tuple(f"{node}:{index}" for index in indices)
    if devices:
        show_devices(devices)
    return devices


class ReactorActor(ReactorProcess):
    """A reactor's process."""

    def __init__(self, name: str, directory: str, campaign_id: str) -> None:
        super().__init__(name, Path(directory), kept_log(Path(directory), campaign_id))


class BenchActor(BenchProcess):
    """The bench's process."""

    def __init__(self, directory: str, campaign_id: str) -> None:
        path = Path(directory)
        super().__init__(path, kept_log(path, campaign_id), _own_devices())


class AdviserActor(AdviserProcess):
    """The adviser's process."""

    def __init__(self, directory: str, campaign_id: str) -> None:
        path = Path(directory)
        super().__init__(path, kept_log(path, campaign_id))


class SpecialistActor(SpecialistProcess):
    """A process for specialists."""

    def __init__(self, directory: str, campaign_id: str, where: str, *, is_borrower: bool) -> None:
        path = Path(directory)
        log = kept_log(path, campaign_id)
        super().__init__(path, log, where, _own_devices(), is_borrower=is_borrower)
