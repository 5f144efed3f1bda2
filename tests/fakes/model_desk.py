"""Somebody who asks models: a log in memory, a journal, blobs, and the door between them."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from arbor.actors.journal import Journal
from arbor.actors.models.accounts import Accounts
from arbor.actors.models.calling import Caller
from arbor.actors.models.door import ModelDoor
from arbor.actors.models.recorded import Recordings
from arbor.actors.models.request import Provider
from arbor.core.clock import Clock, VirtualClock
from arbor.events.base import Event
from arbor.events.blobs import BlobStore
from arbor.events.log import EventLog
from arbor.events.memory import MemoryLog
from arbor.events.model_settings import ModelSettings

E = TypeVar("E", bound=Event)


class ModelDesk:
    """Everything that a question needs.

    Attributes:
        log: the log.
        clock: moves only when somebody waits.
        journal: appends for the asker.
        blobs: prompts and replies.
        accounts: what pays.
        caller: has requests answered.
        door: what is asked.
    """

    def __init__(
        self,
        folder: Path,
        provider: Provider,
        settings: ModelSettings,
        *,
        campaign_usd: float = 1.0,
        log: EventLog | None = None,
        recordings: Recordings | None = None,
        clock: Clock | None = None,
        actor: str = "specialist",
    ) -> None:
        self.clock = VirtualClock() if clock is None else clock
        self.log = MemoryLog("c", self.clock.now) if log is None else log
        self.journal = Journal(self.log, actor, self.clock)
        self.journal.start()
        self.blobs = BlobStore(folder)
        self.accounts = Accounts(self.journal, settings, campaign_usd)
        self.caller = Caller(
            self.journal,
            settings,
            self.accounts,
            provider,
            self.blobs,
            recordings=recordings,
            jitter=random.Random(0),
        )
        self.door = ModelDoor(settings, self.caller)

    def events(self, kind: type[E]) -> Sequence[E]:
        """Return the events of a kind in the log."""
        return [r.event for r in self.log.read() if isinstance(r.event, kind)]
