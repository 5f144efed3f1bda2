"""Where a campaign's time went, as a fold: leases are effects, the rest is Arbor's own."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from arbor.core.budget import DRIVER
from arbor.core.leases import LeaseTable
from arbor.events.base import Recorded
from arbor.events.campaign import (
    CampaignEnded,
    CampaignPaused,
    CampaignResumed,
    CampaignStarted,
)
from arbor.events.life import IncarnationStarted, LeaseTaken

OWN = "own"
"""Time in which nobody held a lease: deciding, appending, building commits, waiting."""


@dataclass(slots=True)
class TimeSpent:
    """Active seconds by what they went into.

    Active time runs from a start or a resumption to a pause, or to the last event before the next
    driver, the same as in the budget. While several leases are held, the time is divided among
    them.
    """

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Purpose of a lease, or ``OWN``, to seconds."""
    num_sessions: int = 0
    _leases: LeaseTable = field(default_factory=LeaseTable)
    _purposes: dict[str, str] = field(default_factory=dict)
    _is_active: bool = False
    _last_at: datetime | None = None

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        event = recorded.event
        is_new_driver = isinstance(event, IncarnationStarted) and recorded.actor == DRIVER
        if not is_new_driver and not isinstance(event, CampaignStarted | CampaignResumed):
            self._pass(recorded.recorded_at)
        if isinstance(event, CampaignStarted | CampaignResumed):
            self._is_active = True
            self.num_sessions += 1
        elif isinstance(event, CampaignEnded | CampaignPaused):
            self._is_active = False
        elif isinstance(event, LeaseTaken):
            self._purposes[event.lease_id] = event.purpose
        self._leases.apply(recorded)
        self._last_at = recorded.recorded_at

    def _pass(self, now: datetime) -> None:
        if not self._is_active or self._last_at is None:
            return
        passed_s = (now - self._last_at).total_seconds()
        if passed_s <= 0.0:
            return
        # Devices are held between pieces of work too: that is no work by itself.
        on_hosts = (key for key, lease in self._leases.held.items() if not lease.devices)
        held = [self._purposes.get(lease, OWN) for lease in on_hosts]
        for purpose in held or [OWN]:
            self.seconds[purpose] += passed_s / max(1, len(held))

    @property
    def wall_s(self) -> float:
        """Active seconds in all."""
        return sum(self.seconds.values())

    @property
    def leased_s(self) -> float:
        """Active seconds in which somebody held a lease."""
        return sum(seconds for purpose, seconds in self.seconds.items() if purpose != OWN)

    @property
    def overhead_ratio(self) -> float:
        """Share of the active time in which nobody held a lease."""
        return self.seconds.get(OWN, 0.0) / self.wall_s if self.wall_s > 0 else 0.0
