"""From the inbox into the log: checked again, each once, whoever owns the log."""

import itertools
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from arbor.actors.inbox import Inbox
from arbor.actors.intake import Intake, deliver
from arbor.actors.journal import Journal
from arbor.actors.ownership import hold_directory
from arbor.core.clock import SystemClock
from arbor.core.layout import CampaignDirectory
from arbor.events.base import Draft, Event
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed
from arbor.events.errors import InvalidInputError
from arbor.events.ids import uuid7
from arbor.events.life import HealthReported
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from arbor.events.settings import Settings
from tests.fakes.recording import START
from tests.fakes.stage import Stage, started, template

PAUSE = CampaignPaused(reason="lunch")


_SECONDS = itertools.count()


def _draft(event: Event) -> Draft:
    """Return what Ann says, a second after what she said before."""
    return Draft(event, uuid7(START + timedelta(seconds=next(_SECONDS))), "human:ann")


def _stage(tmp_path: Path) -> tuple[Stage, Inbox, Intake]:
    stage = Stage(template("a"))
    inbox = Inbox(tmp_path / "inbox")
    return stage, inbox, Intake(inbox, Journal(stage.log, "supervisor", stage.clock))


def test_a_command_is_in_the_log_once_as_the_human(tmp_path: Path) -> None:
    stage, inbox, intake = _stage(tmp_path)
    draft = _draft(PAUSE)
    inbox.put(draft)
    assert intake.take_in() == 1
    (recorded,) = (r for r in stage.events() if r.event_id == draft.event_id)
    assert (recorded.actor, recorded.event) == ("human:ann", PAUSE)
    assert stage.state.is_paused
    assert intake.take_in() == 0
    # Its taker died before the file was deleted: it makes no sense any more, and is there.
    inbox.put(draft)
    again = Intake(inbox, Journal(stage.log, "supervisor", stage.clock))
    assert again.take_in() == 1
    assert len(stage.of_kind(CampaignPaused)) == 1
    assert not stage.of_kind(HealthReported)
    assert list(inbox.waiting()) == []


def test_commands_are_checked_one_after_the_other(tmp_path: Path) -> None:
    stage, inbox, intake = _stage(tmp_path)
    first, second = _draft(PAUSE), _draft(PAUSE)
    inbox.put(first)
    inbox.put(second)
    assert intake.take_in() == 1
    (report,) = stage.of_kind(HealthReported)
    assert "paused already" in report.detail
    refusals = [inbox.take_refusal(draft.event_id) for draft in (first, second)]
    assert len([reason for reason in refusals if reason is not None]) == 1


def test_rubbish_is_reported_and_set_aside(tmp_path: Path) -> None:
    stage, inbox, intake = _stage(tmp_path)
    inbox.directory.mkdir()
    (inbox.directory / "rubbish.json").write_text("{")
    assert intake.take_in() == 0
    assert intake.take_in() == 0
    (report,) = stage.of_kind(HealthReported)
    assert "not a command" in report.detail


class Stubborn(Inbox):
    """Belongs to somebody else: nothing in it can be deleted."""

    def remove(self, event_id: str) -> None:
        raise PermissionError(event_id)

    def refuse(self, event_id: str, reason: str) -> None:
        raise PermissionError(event_id, reason)


def test_a_file_that_cannot_be_deleted_is_taken_once(tmp_path: Path) -> None:
    stage, inbox, _ = _stage(tmp_path)
    intake = Intake(Stubborn(inbox.directory), Journal(stage.log, "supervisor", stage.clock))
    inbox.put(_draft(PAUSE))
    inbox.put(_draft(PAUSE))
    assert intake.take_in() == 1
    assert intake.take_in() == 0
    assert len(stage.of_kind(CampaignPaused)) == len(stage.of_kind(HealthReported)) == 1


def _campaign(directory: Path) -> Path:
    log = ParquetLog.open(CampaignDirectory(directory).log, "c")
    Journal(log, "supervisor", SystemClock()).append(started([template("a")], Settings()))
    log.close()
    return directory


def _events(directory: Path) -> list[Event]:
    return [r.event for r in ParquetReader(CampaignDirectory(directory).log).read()]


def test_without_an_owner_a_command_is_appended_directly(tmp_path: Path) -> None:
    directory = _campaign(tmp_path)
    assert deliver(directory, _draft(PAUSE), 0.0) == 2
    assert deliver(directory, _draft(CampaignResumed(reason="back")), 0.0) == 3
    assert [e.kind for e in _events(directory)[1:]] == ["CampaignPaused", "CampaignResumed"]
    with pytest.raises(InvalidInputError, match="not paused"):
        deliver(directory, _draft(CampaignResumed(reason="back")), 0.0)
    assert list(CampaignDirectory(directory).inbox.iterdir()) == []


def test_with_an_owner_a_command_waits_for_it(tmp_path: Path) -> None:
    directory = _campaign(tmp_path)
    names = CampaignDirectory(directory)
    draft = _draft(PAUSE)
    with hold_directory(directory):
        assert deliver(directory, draft, 0.0) is None
        assert [letter.draft for letter in Inbox(names.inbox).waiting()] == [draft]
        log = ParquetLog.open(names.log, "c")
        intake = Intake(Inbox(names.inbox), Journal(log, "supervisor", SystemClock()))
        positions: list[int | None] = []
        other = _draft(CampaignResumed(reason="back"))
        waiting = threading.Thread(
            target=lambda: positions.append(deliver(directory, other, 60.0))
        )
        waiting.start()
        while waiting.is_alive():
            intake.take_in()
            waiting.join(0.01)
        log.close()
    assert positions == [3]
    assert _events(directory)[1:] == [PAUSE, other.event]


def test_what_an_owner_left_behind_is_taken_in_by_the_next_command(tmp_path: Path) -> None:
    directory = _campaign(tmp_path)
    with hold_directory(directory):
        assert deliver(directory, _draft(PAUSE), 0.0) is None
    assert deliver(directory, _draft(CampaignResumed(reason="back")), 0.0) == 3


def test_the_end_may_come_first(tmp_path: Path) -> None:
    directory = _campaign(tmp_path)
    log = ParquetLog.open(CampaignDirectory(directory).log, "c")
    ended = CampaignEnded(reason="x", node_id="n000")
    Journal(log, "supervisor", SystemClock()).append(ended)
    log.close()
    with pytest.raises(InvalidInputError, match="has ended"):
        deliver(directory, _draft(PAUSE), 0.0)
