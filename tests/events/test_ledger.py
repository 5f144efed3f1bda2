"""Both logs decide alike, whatever is appended and however often the disk's log is reopened."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.events.base import Condition, Draft, Recorded
from arbor.events.errors import ConflictError, LogError
from arbor.events.ledger import Clock
from arbor.events.log import EventLog
from arbor.events.memory import MemoryLog
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from arbor.events.verify import verify
from tests.contracts.event_log import SteppingClock, draft, started

Batch = tuple[list[Draft], Condition | None]
Step = Batch | str

_TAGS = st.sampled_from([*(f"action:a{n}" for n in range(6)), "template:t"])
_INCARNATIONS = st.integers(0, 2)
_DRAFTS = st.one_of(
    # Few numbers: ids repeat often.
    st.builds(lambda n, i: draft(n, incarnation=i), st.integers(0, 5), _INCARNATIONS),
    st.builds(
        lambda n, i: draft(n, incarnation=i), st.integers(100, 10_000), st.sampled_from([0, 2])
    ),
    st.builds(started, st.integers(20_000, 20_010), _INCARNATIONS),
)
_CONDITIONS = st.builds(Condition, st.integers(0, 12), st.frozensets(_TAGS, max_size=3))
_BATCHES = st.tuples(st.lists(_DRAFTS, max_size=5), st.none() | _CONDITIONS)
_STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(_BATCHES, _BATCHES, _BATCHES, st.sampled_from(["compact", "reopen"])), max_size=12
)


def outcome(log: EventLog, batch: Batch) -> object:
    """Return the positions, or what the refusal says."""
    try:
        return log.append(*batch)
    except ConflictError as error:
        return (error.tag, error.position)
    except LogError as error:
        return (type(error), str(error))


def without_epoch(events: Sequence[Recorded]) -> list[Recorded]:
    return [replace(each, epoch=0) for each in events]


@settings(max_examples=25, deadline=None)
@given(_STEPS)
def test_both_logs_decide_alike(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "log"
        memory_clock, disk_clock = SteppingClock(), SteppingClock()
        memory: EventLog = MemoryLog("c1", memory_clock)
        disk = _opened(directory, disk_clock)
        reader = ParquetReader(directory)
        followed: list[Recorded] = []
        for step in steps:
            if step == "compact":
                disk.compact()
            elif step == "reopen":
                disk.close()
                disk = _opened(directory, disk_clock)
            elif not isinstance(step, str):
                disk_clock.now = memory_clock.now
                assert outcome(disk, step) == outcome(memory, step)
            followed += reader.read(len(followed))
        events = list(memory.read())
        assert without_epoch(list(disk.read())) == without_epoch(events)
        assert list(disk.read()) == followed
        assert disk.head() == reader.head()
        if "reopen" not in steps:
            assert disk.head() == memory.head(), "the same commits give the same chain"
        disk.close()
        report = verify(directory)
        assert report.problems == ()
        assert report.head == disk.head()


def _opened(directory: Path, clock: Clock) -> ParquetLog:
    return ParquetLog.open(directory, "c1", clock, compact_after=3, grace_s=0)
