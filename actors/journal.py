"""A worker's hold on the log: announce the incarnation, follow, append."""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from arbor.actors.snapshots import Snapshots
from arbor.core.clock import Clock
from arbor.core.reactor import Fold
from arbor.core.state import CampaignState
from arbor.events.base import Condition, Draft, Event, Recorded
from arbor.events.errors import ConflictError
from arbor.events.ids import uuid7
from arbor.events.life import IncarnationStarted, LeaseReleased, LeaseRequested, LeaseTaken
from arbor.events.log import EventLog

LEASE_POLL_S = 0.5
"""Longest wait before a waiting worker looks again."""


class Journal:
    """Follows the log into a fold and appends as one actor.

    Attributes:
        state: the campaign's state up to what was folded last.
        clock: the actor's clock.
        actor: name of the actor.

    Args:
        log: the log.
        actor: name of the actor.
        clock: its clock.
        snapshots: where a start may begin; None to fold the whole log.
        state: the fold to feed; a new one when None.
    """

    def __init__(
        self,
        log: EventLog,
        actor: str,
        clock: Clock,
        snapshots: Snapshots | None = None,
        state: CampaignState | None = None,
    ) -> None:
        self._log = log
        self._snapshots = snapshots
        self.actor = actor
        self.clock = clock
        self.state = CampaignState() if state is None else state
        self._folds: list[Fold] = [self.state]
        self._own_incarnation = 0
        self._position = 0

    @property
    def position(self) -> int:
        """Position up to which events were folded."""
        return self._position

    def follow(self, fold: Fold) -> None:
        """Feed a further fold; call it before ``start``."""
        self._folds.append(fold)

    def start(self, devices: tuple[str, ...] = ()) -> None:
        """Announce a new incarnation, which fences older ones, and fold up to it.

        Args:
            devices: accelerators that are this actor's own.

        Raises:
            LogError: the log cannot be used.
        """
        self._take_snapshot()
        self.catch_up()
        # Never that of a successor, else nothing would stop this one.
        self._own_incarnation = self.state.incarnations.get(self.actor, 0) + 1
        self.append(
            IncarnationStarted(process_id=os.getpid(), host=socket.gethostname(), devices=devices)
        )
        self.catch_up()

    def _incarnation(self) -> int:
        return self._own_incarnation or self.state.incarnations.get(self.actor, 0)

    def _take_snapshot(self) -> None:
        """Begin where a snapshot ends; other folds than the state need the whole log."""
        if self._snapshots is None or self._position or len(self._folds) > 1:
            return
        found = self._snapshots.latest()
        if found is not None:
            self.state.adopt(found)
            self._position = found.position

    def catch_up(self) -> int:
        """Fold what is new; return the number of events."""
        num = 0
        for recorded in self._log.read(after=self._position):
            self._apply(recorded)
            num += 1
        return num

    def _apply(self, recorded: Recorded) -> None:
        for fold in self._folds:
            fold.apply(recorded)
        self._position = recorded.position

    def wait(self, timeout_s: float) -> bool:
        """Wait for news; return whether there are any."""
        return self._log.wait_beyond(self._position, timeout_s)

    def append(self, *events: Event, watching: frozenset[str] | None = None) -> None:
        """Append events, all or none, as seen at the position folded so far.

        Args:
            events: what happened.
            watching: tags that must not have moved since; None to append in any case.

        Raises:
            ConflictError: a watched tag moved; fold on and decide again.
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        condition = None if watching is None else Condition(self._position, watching)
        self._log.append(self._drafts(events, is_decision=False), condition)

    def read_after(self, position: int) -> Iterator[Recorded]:
        """Yield events beyond a position without folding them here; safe for threads.

        Raises:
            CorruptLogError: a stored event cannot be read.
        """
        return self._log.read(after=position)

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Wait until the log goes beyond a position; return whether it does."""
        return self._log.wait_beyond(position, timeout_s)

    def append_after(self, position: int, *events: Event, watching: frozenset[str]) -> None:
        """Append events as seen at a position that the caller folded; safe for threads.

        Raises:
            ConflictError: a watched tag moved; fold on and decide again.
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        self._log.append(self._drafts(events, is_decision=False), Condition(position, watching))

    def decide(
        self, events: Sequence[Event], watching: frozenset[str], decided_at: datetime
    ) -> None:
        """Append decisions that were made from exactly what was folded so far.

        Args:
            events: the decisions.
            watching: tags that must not have moved since.
            decided_at: the clock that the decider was given.

        Raises:
            ConflictError: a watched tag moved; fold on and decide again.
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        drafts = self._drafts(events, is_decision=True, decided_at=decided_at)
        self._log.append(drafts, Condition(self._position, watching))

    def pass_on(self, draft: Draft, watching: frozenset[str]) -> None:
        """Append what somebody else said, as it is, when no watched tag moved since.

        Raises:
            ConflictError: a watched tag moved; fold on and look again.
            InvalidInputError: the draft could not be read again.
            LogError: the log cannot be used.
        """
        self._log.append([draft], Condition(self._position, watching))

    def holds(self, event_id: str) -> bool:
        """Return whether an event is in the log; reads all of it."""
        return any(recorded.event_id == event_id for recorded in self._log.read())

    def _drafts(
        self, events: Sequence[Event], *, is_decision: bool, decided_at: datetime | None = None
    ) -> list[Draft]:
        now = self.clock.now()
        return [
            Draft(
                event=event,
                event_id=uuid7(now),
                actor=self.actor,
                incarnation=self._incarnation(),
                decided_after=self._position if is_decision else None,
                decided_at=decided_at,
            )
            for event in events
        ]

    @contextmanager
    def lease(
        self,
        host: str,
        purpose: str,
        *,
        exclusive: bool,
        action_id: str | None = None,
        devices: tuple[str, ...] = (),
    ) -> Iterator[None]:
        """Hold a host, shared or alone, or devices of it, while the block runs.

        Raises:
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        lease_id = self.take_lease(
            host, purpose, exclusive=exclusive, action_id=action_id, devices=devices
        )
        try:
            yield
        finally:
            self.release_lease(lease_id, host)

    def take_lease(
        self,
        host: str,
        purpose: str,
        *,
        exclusive: bool,
        action_id: str | None = None,
        devices: tuple[str, ...] = (),
    ) -> str:
        """Wait until a lease can be taken, and take it; return its id.

        Raises:
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        lease_id = uuid7(self.clock.now())
        has_asked = False
        watched = frozenset({f"lease:{host}"})
        while True:
            self.catch_up()
            try:
                if self.state.leases.can_take(
                    lease_id, host, exclusive=exclusive, devices=devices
                ):
                    self.append(
                        LeaseTaken(
                            lease_id=lease_id,
                            host=host,
                            is_exclusive=exclusive,
                            purpose=purpose,
                            action_id=action_id,
                            devices=devices,
                        ),
                        watching=watched,
                    )
                    return lease_id
                if exclusive and not has_asked:
                    self.append(
                        LeaseRequested(lease_id=lease_id, host=host, devices=devices),
                        watching=watched,
                    )
                    has_asked = True
                    continue
            except ConflictError:
                continue
            self.wait(LEASE_POLL_S)

    def release_lease(self, lease_id: str, host: str) -> None:
        """Give a lease up.

        Raises:
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        self.append(LeaseReleased(lease_id=lease_id, host=host))
        self.catch_up()
