"""A follower sees every durable event once, while the log is written and compacted."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from arbor.events.layout import Layout
from arbor.events.log import GENESIS_DIGEST, EventReader, Head
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from tests.contracts.event_log import draft


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_is_an_event_reader(directory: Path) -> None:
    ParquetLog.open(directory, "c1")
    reader: EventReader = ParquetReader(directory)
    assert reader.head() == Head(0, GENESIS_DIGEST)
    assert list(reader.read()) == []
    assert not reader.wait_beyond(0, timeout_s=0.01)


def test_follows_while_the_log_is_written(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1")
    reader = ParquetReader(directory)

    def follow() -> list[int]:
        positions: list[int] = []
        while len(positions) < 60:
            position = positions[-1] if positions else 0
            assert reader.wait_beyond(position, timeout_s=30)
            positions += [each.position for each in reader.read(position)]
        return positions

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        for number in range(20):
            log.append([draft(number * 10 + at) for at in range(3)])
        assert following.result(30) == list(range(1, 61))
    assert reader.head() == log.head()


def test_starts_anywhere(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1", grace_s=0)
    for number in range(10):
        log.append([draft(number * 10 + at) for at in range(4)])
        if number == 5:
            log.compact()
    for after in range(42):
        reader = ParquetReader(directory)
        expected = list(range(after + 1, 41))
        assert [each.position for each in reader.read(after)] == expected
        assert [each.position for each in reader.read(after, limit=2)] == expected[:2]
        assert reader.head() == log.head()


def test_following_opens_no_old_files(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1")
    log.append([draft(1)])
    log.append([draft(2)])
    reader = ParquetReader(directory)
    assert len(list(reader.read())) == 2
    for first in (1, 2):
        Layout(directory).tail_path(first).unlink()
    log.append([draft(3)])
    assert [each.position for each in reader.read(after=2)] == [3]


def test_readers_survive_compaction_under_their_feet(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1", compact_after=4, grace_s=0)
    is_over = threading.Event()

    def read_again() -> int:
        num_reads = 0
        follower, position = ParquetReader(directory), 0
        while not is_over.is_set():
            head = log.head().position
            found = [each.position for each in ParquetReader(directory).read()]
            assert found == list(range(1, len(found) + 1))
            assert len(found) >= head
            news = [each.position for each in follower.read(position)]
            assert news == list(range(position + 1, position + len(news) + 1))
            position += len(news)
            num_reads += 1
        return num_reads

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read_again) for _ in range(2)]
        for number in range(80):
            log.append([draft(number)])
        is_over.set()
        assert all(reader.result(30) > 0 for reader in readers)
    log.close()
    assert len(Layout(directory).segment_ranges()) > 5


def test_a_change_of_history_is_noticed(directory: Path, tmp_path: Path) -> None:
    log = ParquetLog.open(directory, "c1")
    log.append([draft(1)])
    reader = ParquetReader(directory)
    reader.head()
    other = ParquetLog.open(tmp_path / "other", "c1")
    other.append([draft(7)])
    other.append([draft(8)])
    strange = Layout(tmp_path / "other").tail_path(2)
    strange.rename(Layout(directory).tail_path(2))
    with pytest.raises(Exception, match="does not follow the commit before it"):
        reader.head()
