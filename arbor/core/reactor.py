"""How an actor thinks: fold events, then decide; pure and deterministic."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from arbor.core.state import CampaignState
from arbor.events.base import Event, Recorded


class Fold(Protocol):
    """State that is rebuilt by applying events in order."""

    def apply(self, recorded: Recorded) -> None:
        """Fold one event; no side effects."""
        ...


class Reactor(Fold, Protocol):
    """A fold that decides."""

    name: str
    state: CampaignState
    """All that it folds; a snapshot holds nothing else."""

    def react(self, now: datetime) -> Sequence[Event]:
        """Return what this actor decides now, as one all-or-nothing batch; empty to wait."""
        ...

    def watched_tags(self, batch: Sequence[Event]) -> frozenset[str]:
        """Return the tags that must not have moved for ``batch`` to still be right."""
        ...
