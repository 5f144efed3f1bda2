"""What disks do to a log: full, read-only, failing, and killed in the middle of a write."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from errno import EIO, ENOSPC
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError, LogError, StorageFullError
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from arbor.events.verify import verify
from tests.contracts.event_log import draft
from tests.events.disks import Freeze, Nobody
from tests.events.failing_syscalls import fail_in_this_thread


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "campaign" / "log"


def test_a_read_only_directory_is_read_only(directory: Path, freeze: Freeze) -> None:
    log = ParquetLog.open(directory, "c1")
    log.append([draft(1)])
    log.close()
    freeze(directory)
    reader = ParquetReader(directory)
    assert [each.position for each in reader.read()] == [1]
    assert reader.head() == log.head()
    assert verify(directory).is_sound
    with pytest.raises(
        InvalidInputError, match=r"cannot be written .*: make it writable"
    ) as caught:
        ParquetLog.open(directory, "c1")
    assert "\n" not in str(caught.value)


def test_a_new_log_cannot_be_where_nothing_can_be_written(tmp_path: Path, freeze: Freeze) -> None:
    (tmp_path / "frozen").mkdir()
    freeze(tmp_path / "frozen")
    with pytest.raises(InvalidInputError, match=r"cannot be created .*: choose a directory"):
        ParquetLog.open(tmp_path / "frozen" / "log", "c1")
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInputError, match="cannot be created"):
        ParquetLog.open(tmp_path / "file", "c1")


@pytest.mark.parametrize("hidden", [".", "tail", "format.json"])
def test_an_unreadable_directory_is_told(
    open_directory: Path, nobody: Nobody, hidden: str
) -> None:
    directory = open_directory / "log"
    ParquetLog.open(directory, "c1").close()
    (directory / hidden).chmod(0)
    uses = (
        lambda: ParquetLog.open(directory, "c1").append([draft(1)]),
        lambda: list(ParquetReader(directory).read()),
        lambda: verify(directory),
    )
    for use in uses:
        with nobody(), pytest.raises(InvalidInputError, match=r"cannot be \w+ \(Perm") as caught:
            use()
        assert "\n" not in str(caught.value)
    (directory / hidden).chmod(0o755)


def test_a_full_disk_acknowledges_nothing(small_disk: Path) -> None:
    log = ParquetLog.open(small_disk / "log", "c1")
    acknowledged = 0
    full = None
    while full is None:
        try:
            (acknowledged,) = log.append([draft(acknowledged + 1)])
        except StorageFullError as error:
            full = error
    assert re.search(r"no space to write \S+ .*; free space on this disk and resume", str(full))
    assert acknowledged > 0
    assert log.head().position == acknowledged
    assert list(small_disk.rglob("*.tmp")) == []
    with pytest.raises(StorageFullError):
        log.append([draft(5000)])
    (small_disk / "ballast").unlink()
    assert log.append([draft(5001)]) == (acknowledged + 1,)
    log.close()
    log = ParquetLog.open(small_disk / "log", "c1")
    assert [each.position for each in log.read()] == list(range(1, acknowledged + 2))
    assert verify(small_disk / "log").problems == ()


def test_a_full_disk_refuses_to_open(small_disk: Path) -> None:
    with suppress(OSError), (small_disk / "more").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(StorageFullError):
        ParquetLog.open(small_disk / "log", "c1")


@pytest.mark.parametrize("syscall", ["fsync", "linkat", "link"])
def test_no_space_at_any_step_is_told(directory: Path, syscall: str) -> None:
    log = ParquetLog.open(directory, "c1")

    def append() -> tuple[int, ...]:
        fail_in_this_thread(syscall, ENOSPC)
        return log.append([draft(1)])

    with ThreadPoolExecutor(1) as pool:
        try:
            pool.submit(append).result(30)
        except StorageFullError:
            assert list(directory.rglob("*.tmp")) == []
        else:
            # The other of the two names of this call is in use here.
            assert syscall in {"link", "linkat"}
            return
    assert log.append([draft(2)]) == (1,)


def test_a_failed_sync_ends_the_log(directory: Path) -> None:
    log = ParquetLog.open(directory, "c1")
    log.append([draft(1)])

    def append() -> None:
        fail_in_this_thread("fsync", EIO)
        log.append([draft(2)])

    with ThreadPoolExecutor(1) as pool, pytest.raises(LogError, match=r"fsync of .* failed"):
        pool.submit(append).result(30)
    with pytest.raises(LogError, match="takes no more events; check the disk and resume"):
        log.append([draft(3)])
    assert [each.position for each in log.read()] == [1]
    log.close()
    assert ParquetLog.open(directory, "c1").append([draft(3)]) == (2,)


def test_acknowledged_events_survive_kills(directory: Path) -> None:
    """Kill a writer under load again and again; nothing acknowledged is lost or doubled."""
    acknowledged: set[str] = set()
    program = Path(__file__).with_name("killed_writer.py")
    for turn in range(3):
        with subprocess.Popen(
            [sys.executable, str(program), str(directory), str(turn)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        ) as writer:
            assert writer.stdout is not None
            for count, line in enumerate(writer.stdout):
                acknowledged.update(line.split())
                if count == 40 + 37 * turn:
                    writer.kill()
            assert writer.wait() != 0
    log = ParquetLog.open(directory, "c1")
    ids = [each.event_id for each in log.read()]
    assert len(ids) == len(set(ids)) == log.head().position
    assert acknowledged <= set(ids)
    assert len(acknowledged) > 3 * 40
    assert verify(directory).problems == ()
