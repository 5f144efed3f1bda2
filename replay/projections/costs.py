"""Projection ``costs``: where time, accelerators and money went."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import ClassVar

from arbor.core.budget import Budget
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.model_calls import ModelCalled
from arbor.replay.projections.base import PythonProjection
from arbor.replay.spans import OWN, TimeSpent

_USD = Decimal(1_000_000)
"""Millionths in a dollar."""


class Costs(PythonProjection):
    """Active seconds and GPU hours by purpose, model calls by role, and the budget as a whole."""

    name: ClassVar[str] = "costs"
    columns: ClassVar[dict[str, str]] = {
        "kind": "VARCHAR",
        "item": "VARCHAR",
        "num_calls": "BIGINT",
        "active_s": "DOUBLE",
        "gpu_hours": "DOUBLE",
        "usd": "DECIMAL(18,6)",
    }

    def __init__(self) -> None:
        self._time = TimeSpent()
        self._budget = Budget()
        self._num_devices = 0
        self._num_calls: Counter[str] = Counter()
        self._usd_micro: Counter[str] = Counter()

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        self._time.apply(recorded)
        self._budget.apply(recorded)
        match recorded.event:
            case CampaignStarted() as event:
                self._num_devices = event.hardware.num_devices
            case ModelCalled() as event:
                self._num_calls[event.role] += 1
                # An unknown price is in the budget as what was reserved for the call.
                self._usd_micro[event.role] += event.usd_micro or 0
            case _:
                pass

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield purposes of leases, roles of model calls, then the budget."""
        for purpose, active_s in sorted(self._time.seconds.items()):
            gpu_s = 0.0 if purpose == OWN else active_s * self._num_devices
            yield "time", purpose, None, active_s, gpu_s / 3600, None
        for role, num in sorted(self._num_calls.items()):
            yield "model", role, num, None, None, Decimal(self._usd_micro[role]) / _USD
        spent = Decimal(self._budget.usd_micro_spent) / _USD
        gpu_s = self._time.leased_s * self._num_devices
        yield "budget", "all", None, self._time.wall_s, gpu_s / 3600, spent
