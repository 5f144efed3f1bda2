"""How commands get from the inbox into the log: checked again, each once."""

import time
from contextlib import suppress
from pathlib import Path

from arbor.actors.commands import refusal
from arbor.actors.inbox import Inbox, Letter
from arbor.actors.journal import Journal
from arbor.actors.ownership import hold_directory
from arbor.core.budget import DRIVER
from arbor.core.clock import SystemClock
from arbor.core.layout import CampaignDirectory
from arbor.events.base import Draft
from arbor.events.errors import BusyError, ConflictError, InvalidInputError
from arbor.events.life import HealthReported
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader

POLL_S = 0.2
"""Longest wait for the log before the inbox and the owner are looked at again."""


class Intake:
    """Appends what waits in the inbox as the people who said it.

    Args:
        inbox: where commands wait.
        journal: hold on the log of whoever owns it; what is refused is reported as its actor.
    """

    def __init__(self, inbox: Inbox, journal: Journal) -> None:
        self._inbox = inbox
        self._journal = journal
        self._done: set[str] = set()
        """Commands whose file may be one that this process cannot delete."""

    def take_in(self) -> int:
        """Take in everything that waits; return how many commands are in the log now.

        Raises:
            StorageFullError: there is no space; the commands wait on.
            LogError: the log cannot be used; the commands wait on.
        """
        waiting = (each for each in self._inbox.waiting() if each.event_id not in self._done)
        return sum(self._take(letter) for letter in waiting)

    def _take(self, letter: Letter) -> bool:
        if letter.draft is None:
            return self._refuse(letter, "the file is not a command that Arbor wrote")
        while True:
            self._journal.catch_up()
            reason = _reason(self._journal, letter.draft)
            # A process that died after the append has left the file of an event in the log.
            if reason is not None and not self._journal.holds(letter.event_id):
                return self._refuse(letter, reason)
            try:
                tags = letter.draft.event.tags() | {"campaign", "constraints"}
                self._journal.pass_on(letter.draft, tags)
            except ConflictError:
                continue
            self._done.add(letter.event_id)
            with suppress(OSError):
                self._inbox.remove(letter.event_id)
            return True

    def _refuse(self, letter: Letter, reason: str) -> bool:
        detail = f"command {letter.event_id} was refused: {reason}"
        self._journal.append(HealthReported(subject="inbox", is_healthy=False, detail=detail))
        self._done.add(letter.event_id)
        with suppress(OSError):
            self._inbox.refuse(letter.event_id, reason)
        return False


def _reason(journal: Journal, draft: Draft) -> str | None:
    try:
        return refusal(journal.state, draft.event)
    except InvalidInputError as error:
        return str(error)


def deliver(directory: Path, draft: Draft, timeout_s: float) -> int | None:
    """Put a command into the inbox and wait until it is in the log.

    Whoever owns the directory takes it in; when nobody does, this process does.

    Args:
        directory: the campaign's directory.
        draft: what a human says.
        timeout_s: how long to wait for an owner.

    Returns:
        Its position, or None when it still waits in the inbox.

    Raises:
        InvalidInputError: it was refused when its turn came, or the directory cannot be written.
        StorageFullError: there is no space.
        LogError: the log is damaged.
    """
    names = CampaignDirectory(directory)
    inbox = Inbox(names.inbox)
    reader = ParquetReader(names.log)
    position = reader.head().position
    inbox.put(draft)
    deadline = time.monotonic() + timeout_s
    while True:
        for recorded in reader.read(after=position):
            if recorded.event_id == draft.event_id:
                return recorded.position
            position = recorded.position
        reason = inbox.take_refusal(draft.event_id)
        if reason is not None:
            raise InvalidInputError(reason)
        try:
            with hold_directory(directory):
                _take_in_alone(names, reader.campaign_id)
        except BusyError:
            if time.monotonic() > deadline:
                return None
            reader.wait_beyond(position, POLL_S)


def _take_in_alone(names: CampaignDirectory, campaign_id: str) -> None:
    """Own the log for as long as it takes to empty the inbox."""
    log = ParquetLog.open(names.log, campaign_id, create=False)
    try:
        Intake(Inbox(names.inbox), Journal(log, DRIVER, SystemClock())).take_in()
    finally:
        log.close()
