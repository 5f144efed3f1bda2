"""Leases as a fold: many may share a host or one has it alone; devices have one user each."""

from collections.abc import Collection
from dataclasses import dataclass, field

from arbor.core.budget import DRIVER
from arbor.events.base import Recorded
from arbor.events.life import IncarnationStarted, LeaseReleased, LeaseRequested, LeaseTaken
from arbor.events.work import SpecialistRetired


@dataclass(frozen=True, slots=True)
class Lease:
    """One lease in force, or waited for.

    Attributes:
        devices: accelerators that it is on; empty: it is on the host.
    """

    lease_id: str
    host: str
    holder: str
    is_exclusive: bool
    devices: tuple[str, ...] = ()


@dataclass(slots=True)
class LeaseTable:
    """Who holds and who waits for what; a dead holder's leases are void.

    Leases on a host and leases on devices are apart: who measures holds both.
    """

    held: dict[str, Lease] = field(default_factory=dict)
    waiting: dict[str, Lease] = field(default_factory=dict)

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        match recorded.event:
            case LeaseRequested() as event:
                self.waiting[event.lease_id] = Lease(
                    event.lease_id,
                    event.host,
                    recorded.actor,
                    is_exclusive=True,
                    devices=event.devices,
                )
            case LeaseTaken() as event:
                self.waiting.pop(event.lease_id, None)
                self.held[event.lease_id] = Lease(
                    event.lease_id,
                    event.host,
                    recorded.actor,
                    event.is_exclusive,
                    event.devices,
                )
            case LeaseReleased() as event:
                self.held.pop(event.lease_id, None)
                self.waiting.pop(event.lease_id, None)
            case IncarnationStarted() if recorded.actor == DRIVER:
                # Everybody was ended with the driver before.
                self.held.clear()
                self.waiting.clear()
            case IncarnationStarted():
                self._void(recorded.actor)
            case SpecialistRetired() as event:
                # The driver retires a specialist whose process broke.
                self._void(event.specialist_id)
            case _:
                pass

    def _void(self, actor: str) -> None:
        for lease in self.of(actor):
            self.held.pop(lease.lease_id, None)
            self.waiting.pop(lease.lease_id, None)

    def can_take(
        self, lease_id: str, host: str, *, exclusive: bool, devices: Collection[str] = ()
    ) -> bool:
        """Return whether a lease may be taken now.

        A shared lease waits while somebody waits for the host alone, so that measurements are
        not starved. Devices go to whoever has waited longest.
        """
        if devices:
            return self._are_free(lease_id, frozenset(devices))
        held = [v for v in self._on_host(self.held, host) if v.lease_id != lease_id]
        if exclusive:
            return not held
        waiting = [v for v in self._on_host(self.waiting, host) if v.lease_id != lease_id]
        return not waiting and not any(v.is_exclusive for v in held)

    @staticmethod
    def _on_host(table: dict[str, Lease], host: str) -> list[Lease]:
        return [v for v in table.values() if v.host == host and not v.devices]

    def _are_free(self, lease_id: str, wanted: frozenset[str]) -> bool:
        if any(wanted & {*v.devices} for v in self.held.values() if v.lease_id != lease_id):
            return False
        for each in self.waiting.values():
            if each.lease_id == lease_id:
                break
            if wanted & {*each.devices}:
                return False
        return True

    def is_waited_for(self, devices: Collection[str], holder: str) -> bool:
        """Return whether somebody other than their holder waits for devices."""
        wanted = frozenset(devices)
        return any(v.holder != holder and wanted & {*v.devices} for v in self.waiting.values())

    def of(self, actor: str) -> tuple[Lease, ...]:
        """Return what an actor holds and waits for."""
        both = (*self.held.values(), *self.waiting.values())
        return tuple(lease for lease in both if lease.holder == actor)

    def given_up_by(self, actor: str) -> tuple[LeaseReleased, ...]:
        """Return what gives up all that an actor holds and waits for, when it cannot itself."""
        return tuple(LeaseReleased(lease_id=v.lease_id, host=v.host) for v in self.of(actor))

    def holds(self, actor: str, devices: Collection[str]) -> bool:
        """Return whether an actor holds all of some devices."""
        own = {d for v in self.held.values() if v.holder == actor for d in v.devices}
        return own >= {*devices}

    def holds_host_alone(self, actor: str) -> bool:
        """Return whether an actor has a host for itself."""
        return any(
            v.is_exclusive and v.holder == actor and not v.devices for v in self.held.values()
        )
