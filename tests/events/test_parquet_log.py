"""The log on disk keeps the contract, has one owner, and survives what disks do."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

import pytest

from arbor.events.base import Condition
from arbor.events.compaction import Compactor
from arbor.events.errors import (
    ConflictError,
    CorruptLogError,
    FencedError,
    InvalidInputError,
    NotFoundError,
)
from arbor.events.layout import Layout, to_sealed
from arbor.events.ledger import Clock, utc_now
from arbor.events.log import EventLog
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from arbor.events.verify import verify
from tests.contracts.event_log import EventLogContract, MakeLog, draft, started


class TestParquetLog(EventLogContract):
    """The contract."""

    @pytest.fixture
    def make_log(self, tmp_path: Path) -> Iterator[MakeLog]:
        opened: list[ParquetLog] = []

        def make(clock: Clock) -> EventLog:
            # Small enough that the contract's threads are compacted while they append.
            log = ParquetLog.open(tmp_path / "log", "c1", clock, compact_after=20, grace_s=0)
            opened.append(log)
            return log

        yield make
        for log in opened:
            log.close()
            assert verify(tmp_path / "log").problems == ()
            reader = ParquetReader(tmp_path / "log")
            assert list(reader.read()) == list(log.read()), "the disk holds what memory says"
            assert reader.head() == log.head()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "campaign" / "log"


def test_reopening_folds_everything(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1")
    log.append([started(1, incarnation=2), draft(2, incarnation=2)])
    log.append([draft(3)])
    before, events = log.head(), list(log.read())
    log.close()
    log = ParquetLog.open(directory, "c1", create=False)
    assert (log.head(), list(log.read()), log.epoch) == (before, events, 2)
    assert log.append([draft(3)]) == (3,)
    with pytest.raises(FencedError):
        log.append([draft(4, incarnation=1)])
    with pytest.raises(ConflictError):
        log.append([draft(5)], Condition(1, frozenset({"action:a3"})))
    assert log.append([draft(6)]) == (4,)
    assert [each.epoch for each in log.read()] == [1, 1, 1, 2]


def test_many_waiting_appends_share_a_file(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1")
    num_threads = 8
    barrier = threading.Barrier(num_threads)

    def work(thread: int) -> None:
        barrier.wait()
        for turn in range(25):
            log.append([draft(thread * 100 + turn)])

    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(work, range(num_threads)))
    assert log.head().position == 200
    assert len(Layout(directory).tails()) < 200


def test_a_refused_batch_harms_no_other_of_its_flush(directory: Path) -> None:
    entered, released = threading.Event(), threading.Event()

    def clock() -> datetime:
        entered.set()
        released.wait(30)
        return utc_now()

    released.set()
    log = ParquetLog.open(directory, "c1", clock)
    released.clear()
    entered.clear()
    condition = Condition(0, frozenset({"action:a1"}))
    with ThreadPoolExecutor(4) as pool:
        leader = pool.submit(log.append, [draft(1)])
        entered.wait(30)
        refused = pool.submit(log.append, [draft(2)], condition)
        accepted = pool.submit(log.append, [draft(3)], Condition(0, frozenset({"action:a3"})))
        while log._group.num_waiting < 2:
            pass
        released.set()
        assert leader.result(30) == (1,)
        assert accepted.result(30) == (2,)
        with pytest.raises(ConflictError, match="position 1"):
            refused.result(30)
    assert len(Layout(directory).tails()) == 2


def test_the_older_writer_is_fenced(directory: Path) -> None:
    older = ParquetLog.open(directory, "c1")
    older.append([draft(1)])
    newer = ParquetLog.open(directory, "c1")
    with pytest.raises(FencedError, match=f"taken over by process {os.getpid()}.*must stop"):
        older.append([draft(2)])
    with pytest.raises(FencedError):
        older.append([draft(3)])
    assert [each.position for each in older.read()] == [1], "it still serves what it acknowledged"
    # What the older writer had linked before it saw its successor is part of the log.
    assert newer.append([draft(2), draft(4)]) == (2, 3)
    assert verify(directory).problems == ()


def test_a_successor_adopts_the_last_commit_of_a_slow_writer(directory: Path) -> None:
    newer: list[ParquetLog] = []
    is_slow = False

    def slow_clock() -> datetime:
        # The older writer is held here, after it planned and before it writes.
        if is_slow:
            newer.append(ParquetLog.open(directory, "c1"))
        return utc_now()

    older = ParquetLog.open(directory, "c1", slow_clock)
    older.append([draft(1)])
    is_slow = True
    with pytest.raises(FencedError):
        older.append([draft(2)])
    (log,) = newer
    assert log.head().position == 1
    with pytest.raises(ConflictError, match="position 2"):
        log.append([draft(3)], Condition(1, frozenset({"action:a2"})))
    assert log.append([draft(2)]) == (2,), "repeated at the successor, it is the same event"
    assert log.append([draft(4)]) == (3,)
    assert [each.epoch for each in log.read()] == [1, 1, 2]
    assert verify(directory).problems == ()


def test_any_number_of_takeovers_lose_nothing(directory: Path) -> None:
    """Three writers take the log from each other as often as they can."""

    def work(writer: int) -> list[tuple[int, str]]:
        acknowledged: list[tuple[int, str]] = []
        for turn in range(6):
            with (
                suppress(FencedError),
                closing(ParquetLog.open(directory, "c1", compact_after=5, grace_s=0)) as log,
            ):
                for number in range(12):
                    sent = draft(writer * 1000 + turn * 20 + number)
                    (position,) = log.append([sent])
                    acknowledged.append((position, sent.event_id))
        return acknowledged

    with ThreadPoolExecutor(3) as pool:
        acknowledged = [each for done in pool.map(work, range(3)) for each in done]
    log = ParquetLog.open(directory, "c1")
    stored = [(each.position, each.event_id) for each in log.read()]
    assert len(acknowledged) > 0
    assert set(acknowledged) <= set(stored)
    assert len({event_id for _, event_id in stored}) == len(stored)
    assert verify(directory).problems == ()


def test_a_writer_overtaken_while_it_opens_writes_nothing(directory: Path) -> None:
    ParquetLog.open(directory, "c1").append([draft(1)])
    layout = Layout(directory)
    epoch = layout.claim_epoch(utc_now)
    ParquetLog.open(directory, "c1").append([draft(2)])
    compactor = Compactor(layout, epoch, compact_after=512, grace_s=60)
    overtaken = ParquetLog(layout, ParquetReader(directory), epoch, utc_now, compactor)
    with pytest.raises(FencedError, match="epoch 3"):
        overtaken._adopt()


def test_an_interrupted_leader_leaves_no_one_waiting(directory: Path) -> None:
    is_broken = False

    def clock() -> datetime:
        if is_broken:
            raise KeyboardInterrupt
        return utc_now()

    log = ParquetLog.open(directory, "c1", clock)
    is_broken = True
    with pytest.raises(KeyboardInterrupt):
        log.append([draft(1)])
    is_broken = False
    assert log.append([draft(1)]) == (1,)


def test_sweeps_temporary_files_of_the_dead(directory: Path) -> None:
    ParquetLog.open(directory, "c1").append([draft(1)])
    for folder in ("tail", "segments", "epochs"):
        (directory / folder / ".00000000000000000002.parquet.ab.tmp").write_bytes(b"PAR1 half")
    log = ParquetLog.open(directory, "c1")
    assert list(directory.rglob("*.tmp")) == []
    assert log.append([draft(2)]) == (2,)


@pytest.mark.parametrize("content", [b"", b"PAR1 half a file", None])
def test_a_damaged_commit_is_named(directory: Path, content: bytes | None) -> None:
    log = ParquetLog.open(directory, "c1")
    log.append([draft(1)])
    log.append([draft(2)])
    path = Layout(directory).tail_path(2)
    path.write_bytes(path.read_bytes()[:-9] if content is None else content)
    with pytest.raises(CorruptLogError, match=r"0002\.parquet is damaged .* restore it") as caught:
        ParquetLog.open(directory, "c1")
    assert "\n" not in str(caught.value)
    with pytest.raises(CorruptLogError):
        list(ParquetReader(directory).read())


@pytest.mark.parametrize("missing", [1, 2])
def test_a_missing_commit_is_no_short_log(directory: Path, missing: int) -> None:
    log = ParquetLog.open(directory, "c1")
    for number in (1, 2, 3):
        log.append([draft(number)])
    Layout(directory).tail_path(missing).unlink()
    with pytest.raises(CorruptLogError, match=f"no file with position {missing}"):
        ParquetLog.open(directory, "c1")
    with pytest.raises(CorruptLogError):
        list(ParquetReader(directory).read())


def test_nothing_is_created_when_forbidden(directory: Path) -> None:
    with pytest.raises(NotFoundError, match="no event log in"):
        ParquetLog.open(directory, "c1", create=False)
    assert not directory.exists()
    with pytest.raises(NotFoundError):
        ParquetReader(directory)


def test_another_campaign_is_refused(directory: Path) -> None:
    ParquetLog.open(directory, "c1").close()
    with pytest.raises(InvalidInputError, match="belongs to campaign 'c1', not 'c2'"):
        ParquetLog.open(directory, "c2")
    assert Layout(directory).epoch() == 1, "its owner was not fenced"


@pytest.mark.parametrize("content", [to_sealed({"format": 3}), b'{"format": 3, "new": []}'])
def test_another_format_is_refused(directory: Path, content: bytes) -> None:
    ParquetLog.open(directory, "c1").close()
    (directory / "format.json").write_bytes(content)
    for use in (lambda: ParquetLog.open(directory, "c1"), lambda: ParquetReader(directory)):
        with pytest.raises(InvalidInputError, match="format 3, this Arbor reads format 2: use"):
            use()
