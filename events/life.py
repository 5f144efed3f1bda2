"""Events of actors' lives: incarnations, health, leases on hosts."""

from typing import ClassVar, Literal

from arbor.events.base import Event


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
