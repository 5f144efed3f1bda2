"""Compaction changes files, never the log."""

import os
from pathlib import Path

import duckdb
import pytest

from arbor.events.errors import FencedError
from arbor.events.layout import Layout
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from arbor.events.verify import verify
from tests.contracts.event_log import draft


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "log"


def fill(log: ParquetLog, num_commits: int, start: int = 0) -> None:
    for number in range(start, start + num_commits):
        log.append([draft(2 * number), draft(2 * number + 1)])


def count(directory: Path) -> tuple[int, int]:
    """Return what SQL over the raw files sees: distinct positions, rows."""
    files = [str(directory / folder / "*.parquet") for folder in ("tail", "segments")]
    query = "select count(distinct position), count(*) from read_parquet(?, union_by_name=true)"
    with duckdb.connect() as connection:
        row = connection.execute(query, [files]).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def test_sql_sees_every_event_at_any_moment(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1", grace_s=60)
    assert count(directory) == (0, 0)
    fill(log, 5)
    assert count(directory) == (10, 10)
    log.compact()
    assert count(directory) == (10, 20), "twice during the grace"
    segment = Layout(directory).segment_path(1, 10)
    assert segment.exists()
    os.utime(segment, (0, 0))
    log.compact()
    assert count(directory) == (10, 10)
    assert Layout(directory).tails() == []


def test_the_query_of_the_documentation(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "design" / "log.md"
    query = page.read_text().split("```sql")[1].split("```")[0]
    log = ParquetLog.open(directory, "c1")
    fill(log, 3)
    log.compact()
    monkeypatch.chdir(directory.parent)
    with duckdb.connect() as connection:
        positions = [row[0] for row in connection.execute(query).fetchall()]
    assert sorted(positions) == [1, 2, 3, 4, 5, 6]


def test_digests_stay(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1", grace_s=0)
    fill(log, 5)
    before, events = verify(directory), list(ParquetReader(directory).read())
    log.compact()
    fill(log, 1, start=5)
    log.compact()
    after = verify(directory, anchors=[before.head])
    assert after.problems == ()
    assert (after.num_events, after.num_commits) == (12, 6)
    assert list(ParquetReader(directory).read())[:10] == events
    log.close()
    log = ParquetLog.open(directory, "c1")
    assert log.head() == after.head
    assert list(log.read())[:10] == events


def test_opening_removes_what_outlived_its_grace(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1", grace_s=60)
    fill(log, 3)
    log.compact()
    log.close()
    assert len(Layout(directory).tails()) == 3
    ParquetLog.open(directory, "c1", grace_s=0).close()
    assert Layout(directory).tails() == []


def test_happens_by_itself(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1", compact_after=8, grace_s=0)
    fill(log, 30)
    log.close()
    layout = Layout(directory)
    assert len(layout.segment_ranges()) >= 2
    assert len(layout.tails()) < 30
    assert verify(directory).problems == ()


def test_a_damaged_commit_stays_where_it_is(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = ParquetLog.open(directory, "c1", compact_after=4, grace_s=0)
    fill(log, 3)
    path = Layout(directory).tail_path(3)
    path.write_bytes(bytes(1) + path.read_bytes()[1:])
    fill(log, 1, start=3)
    log.close()
    assert "gave up" in caplog.text
    assert Layout(directory).segment_ranges() == []
    assert Layout(directory).tails() == [1, 3, 5, 7]
    assert log.head().position == 8, "appends went on"


def test_a_fenced_writer_compacts_no_more(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1", grace_s=0)
    fill(log, 3)
    ParquetLog.open(directory, "c1").close()
    with pytest.raises(FencedError):
        log.compact()
    assert Layout(directory).segment_ranges() == []


def test_overlapping_segments_of_two_writers_are_one_log(directory: Path) -> None:
    layout = Layout(directory)
    log = ParquetLog.open(directory, "c1", grace_s=60)
    fill(log, 3)
    log.compact()
    # A writer that lost its ownership while it compacted may leave another cut.
    hidden = layout.segment_path(1, 6).rename(directory / "hidden")
    fill(log, 2, start=3)
    log.compact()
    hidden.rename(layout.segment_path(1, 6))
    for first in layout.tails():
        layout.tail_path(first).unlink()
    assert layout.segment_ranges() == [(1, 6), (1, 10)]
    assert [each.position for each in ParquetReader(directory).read()] == list(range(1, 11))
    assert verify(directory).problems == ()
