"""Events of actors' lives: incarnations, health, leases on hosts."""

from typing import ClassVar, Literal

from arbor.events.base import Event
from arbor.events.causes import RemedyStep

HealthCondition = Literal[
    "",
    "thrash",
    "stall",
    "crash_loop",
    "disk",
    "leaked_server",
    "port",
    "device_memory",
    "clock",
]
"""What ails a long campaign.

``thrash``: the same work is done and undone. ``stall``: work in flight shows no sign of life.
``crash_loop``: different ideas break in the same way. ``leaked_server``: a server of the campaign
that nobody watches. ``port``: such a server holds one. ``clock``: the host's time jumped.
"""


class IncarnationStarted(Event):
    """An actor announced itself, before it folds; older incarnations are fenced."""

    area: ClassVar[str] = "life"
    kind: Literal["IncarnationStarted"] = "IncarnationStarted"

    process_id: int
    host: str
    devices: tuple[str, ...] = ()
    """Accelerators that are its own, ``<node>:<index>``, unique in the cluster."""


class HealthReported(Event):
    """Something about the machine or an actor needs attention."""

    area: ClassVar[str] = "life"
    kind: Literal["HealthReported"] = "HealthReported"

    subject: str
    is_healthy: bool
    detail: str
    condition: HealthCondition = ""
    recovery: tuple[RemedyStep, ...] = ()
    """What the next attempt cleans first; empty: nothing, or it was done already."""
    cleaned: tuple[str, ...] = ()
    """What was done about it at once, one line each."""


class LeaseRequested(Event):
    """Somebody waits for a host, or for devices of it, alone; no later lease comes before."""

    area: ClassVar[str] = "life"
    kind: Literal["LeaseRequested"] = "LeaseRequested"

    lease_id: str
    host: str
    devices: tuple[str, ...] = ()
    """What is waited for; empty: the host."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return frozenset({f"lease:{self.host}"})


class LeaseTaken(Event):
    """A host was taken for work, shared or alone, or devices of it, always alone."""

    area: ClassVar[str] = "life"
    kind: Literal["LeaseTaken"] = "LeaseTaken"

    lease_id: str
    host: str
    is_exclusive: bool
    purpose: str
    devices: tuple[str, ...] = ()
    """What was taken; empty: the host."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"lease:{self.host}"}


class LeaseReleased(Event):
    """A lease, or the wait for one, ended."""

    area: ClassVar[str] = "life"
    kind: Literal["LeaseReleased"] = "LeaseReleased"

    lease_id: str
    host: str

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return frozenset({f"lease:{self.host}"})
