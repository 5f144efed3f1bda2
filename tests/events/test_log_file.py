"""A file of a log gives whole commits, and what a writer must know of them, column by column."""

from dataclasses import replace
from pathlib import Path

import pytest

from arbor.events.errors import CorruptLogError
from arbor.events.layout import Layout
from arbor.events.ledger import Index, chain_digest
from arbor.events.log import GENESIS_DIGEST
from arbor.events.log_file import LogFile
from arbor.events.parquet_log import ParquetLog
from tests.contracts.event_log import canonical, draft, started


@pytest.fixture
def file(tmp_path: Path) -> LogFile:
    """A segment of three commits."""
    log = ParquetLog.open(tmp_path / "log", "c1")
    log.append([draft(1), draft(2)])
    log.append([started(3, incarnation=5)])
    log.append([draft(1001), draft(1), started(4, incarnation=7, actor="critic")])
    log.append([replace(draft(5), event_id="x"), replace(draft(2), event_id="y")])
    log.compact()
    log.close()
    return LogFile.load(Layout(tmp_path / "log").segment_path(1, 7))


def expected_index(file: LogFile, after: int) -> Index:
    """Return the same one event by event."""
    index = Index()
    for each in file.events(after):
        index.positions[each.event_id] = each.position
        index.tags.update(dict.fromkeys(each.event.tags(), each.position))
        if each.event.kind == "IncarnationStarted":
            index.announce(each.actor, each.incarnation)
    return index


def test_the_index_is_that_of_the_events(file: LogFile) -> None:
    for after in range(8):
        index, recorded_at_us = file.index(file.table(), after)
        assert index == expected_index(file, after)
        assert (recorded_at_us > 0) == (after < 7)


def test_every_commit_has_the_digest_of_its_own_text(file: LogFile) -> None:
    events = list(file.events())
    digest = GENESIS_DIGEST
    for commit in file.commits(file.table()):
        own = events[commit.first - 1 : commit.last]
        digest = chain_digest(digest, b"".join(canonical(each) for each in own))
        assert commit.digest == digest
        assert commit.epoch == 1
    assert digest == file.extent.digest
    assert file.extent.sizes == (2, 1, 2, 2)


def test_rows_at_other_positions_are_damage(file: LogFile) -> None:
    table = file.table()
    with pytest.raises(CorruptLogError, match="has position 2 where 1 belongs"):
        file.commits(table.take([1, 0, 2, 3, 4, 5, 6]))
