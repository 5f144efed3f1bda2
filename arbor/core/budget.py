"""The budget as a fold: active wall-clock time, trials, reservations."""

from dataclasses import dataclass, field
from datetime import datetime

from arbor.core.spending import Spending
from arbor.events.base import Recorded
from arbor.events.campaign import (
    CampaignEnded,
    CampaignPaused,
    CampaignResumed,
    CampaignStarted,
)
from arbor.events.choice import ActionDispatched
from arbor.events.life import IncarnationStarted
from arbor.events.money import BudgetReserved, BudgetSpent
from arbor.events.settings import BudgetSettings

DRIVER = "supervisor"
"""Actor whose new incarnation begins a session of work."""


@dataclass(slots=True)
class Budget:
    """What a campaign has spent and may still spend.

    Active time is counted from a start or a resumption to a pause, or to the last event before
    the next driver announces itself, so that the time in which no driver ran is free.
    """

    settings: BudgetSettings = field(default_factory=BudgetSettings)
    added_wall_s: float = 0.0
    num_trials: int = 0
    usd_micro_spent: int = 0
    spending: Spending = field(default_factory=Spending)
    """What language models cost, by role and action."""
    _closed_s: float = 0.0
    _session_start: datetime | None = None
    _last_at: datetime | None = None
    _open: dict[str, BudgetReserved] = field(default_factory=dict)

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        self.spending.apply(recorded)
        match recorded.event:
            case CampaignStarted() as event:
                self.settings = event.settings.budget
                self._session_start = recorded.recorded_at
            case CampaignResumed() as event:
                self._close_session()
                self._session_start = recorded.recorded_at
                self.added_wall_s += event.added_wall_s
            case IncarnationStarted() if recorded.actor == DRIVER and self._session_start:
                # A new driver: the one before it was gone since its last event.
                self._close_session()
                self._session_start = recorded.recorded_at
            case CampaignEnded() | CampaignPaused():
                self._last_at = recorded.recorded_at
                self._close_session()
            case ActionDispatched():
                self.num_trials += 1
            case BudgetReserved() as event:
                self._open[event.reservation_id] = event
                self.usd_micro_spent += event.usd_micro
            case BudgetSpent() as event:
                reserved = self._open.pop(event.reservation_id, None)
                self.usd_micro_spent += event.usd_micro - (reserved.usd_micro if reserved else 0)
            case _:
                pass
        self._last_at = recorded.recorded_at

    def _close_session(self) -> None:
        if self._session_start is not None and self._last_at is not None:
            self._closed_s += max(0.0, (self._last_at - self._session_start).total_seconds())
        self._session_start = None

    @property
    def wall_s(self) -> float:
        """Wall-clock seconds that the campaign may use in all."""
        return self.settings.wall_s + self.added_wall_s

    def elapsed_s(self, now: datetime) -> float:
        """Return the active seconds up to ``now``."""
        running = 0.0
        if self._session_start is not None:
            running = max(0.0, (now - self._session_start).total_seconds())
        return self._closed_s + running

    def reserved_s(self) -> float:
        """Return the seconds of trials that were reserved and are not reconciled."""
        return sum(r.wall_ms for r in self._open.values()) / 1000

    def remaining_s(self, now: datetime) -> float:
        """Return the seconds that are left, below zero when overrun."""
        return self.wall_s - self.elapsed_s(now)
