"""Leases on hosts as a fold: many may share a host, a measurement has it alone."""

from dataclasses import dataclass, field

from arbor.core.budget import DRIVER
from arbor.events.base import Recorded
from arbor.events.life import IncarnationStarted, LeaseReleased, LeaseRequested, LeaseTaken
from arbor.events.work import SpecialistRetired


@dataclass(frozen=True, slots=True)
class Lease:
    """One lease in force, or waited for."""

    lease_id: str
    host: str
    holder: str
    is_exclusive: bool


@dataclass(slots=True)
class LeaseTable:
    """Who holds and who waits for which host; a dead holder's leases are void."""

    held: dict[str, Lease] = field(default_factory=dict)
    waiting: dict[str, Lease] = field(default_factory=dict)

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        match recorded.event:
            case LeaseRequested() as event:
                self.waiting[event.lease_id] = Lease(
                    event.lease_id, event.host, recorded.actor, is_exclusive=True
                )
            case LeaseTaken() as event:
                self.waiting.pop(event.lease_id, None)
                self.held[event.lease_id] = Lease(
                    event.lease_id, event.host, recorded.actor, event.is_exclusive
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
        for table in (self.held, self.waiting):
            for lease in [v for v in table.values() if v.holder == actor]:
                del table[lease.lease_id]

    def can_take(self, lease_id: str, host: str, *, exclusive: bool) -> bool:
        """Return whether a lease may be taken now.

        A shared lease waits while somebody waits for the host alone, so that measurements are
        not starved.
        """
        held = [v for v in self.held.values() if v.host == host and v.lease_id != lease_id]
        if exclusive:
            return not held
        waiting = [v for v in self.waiting.values() if v.host == host and v.lease_id != lease_id]
        return not waiting and not any(v.is_exclusive for v in held)
