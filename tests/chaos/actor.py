"""An actor under load: counts in the log, takes the host by turns, notes what was told."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from arbor.actors.journal import Journal
from arbor.actors.keeper import KeptLog
from arbor.core.clock import SystemClock
from arbor.events.base import Condition, Draft, Recorded
from arbor.events.errors import ConflictError, FencedError
from arbor.events.life import HealthReported
from arbor.events.log import EventLog, Head
from arbor.events.types import Edit
from arbor.events.work import TrialMeasured
from tests.chaos.keeper_service import CallService

HOST = "host"
LEASE_EVERY = 5


class NotingLog:
    """Notes ids and positions of what was acknowledged, in a file that outlives the process."""

    def __init__(self, log: EventLog, path: Path) -> None:
        self._log = log
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append(
        self, drafts: Sequence[Draft], condition: Condition | None = None
    ) -> tuple[int, ...]:
        """Append and note."""
        positions = self._log.append(drafts, condition)
        # One write: a kill leaves the whole line or nothing.
        lines = [f"{d.event_id} {at}\n" for d, at in zip(drafts, positions, strict=True)]
        os.write(self._file, "".join(lines).encode())
        return positions

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Pass on."""
        return self._log.read(after, limit)

    def head(self) -> Head:
        """Pass on."""
        return self._log.head()

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Pass on."""
        return self._log.wait_beyond(position, timeout_s)

    def close(self) -> None:
        """Pass on."""
        self._log.close()


class Count:
    """Fold: the number of the actor's latest trial."""

    def __init__(self, actor: str) -> None:
        self._actor = actor
        self.latest = 0

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        if recorded.actor == self._actor and isinstance(recorded.event, TrialMeasured):
            self.latest = recorded.event.trial


def act(name: str, directory: str, sockets: str, notes: str) -> None:
    """Work until killed, or until a successor has started."""
    call = CallService(Path(sockets))
    # Answers once there is a log.
    call("process_id")
    log = NotingLog(KeptLog(Path(directory), call), Path(notes))
    journal = Journal(log, name, SystemClock())
    count = Count(name)
    journal.follow(count)
    with suppress(FencedError):
        journal.start()
        while True:
            with suppress(ConflictError):
                _work(journal, count)


def _work(journal: Journal, count: Count) -> None:
    journal.catch_up()
    trial = count.latest + 1
    journal.append(
        TrialMeasured(
            action_id=journal.actor,
            trial=trial,
            edits=(Edit(key="load.value", value=trial),),
            throughput_tok_s=float(trial),
            engine="chaos",
        ),
        watching=frozenset({f"action:{journal.actor}"}),
    )
    if trial % LEASE_EVERY == 0:
        with journal.lease(HOST, "chaos", exclusive=True):
            journal.append(HealthReported(subject=HOST, is_healthy=True, detail=str(trial)))
