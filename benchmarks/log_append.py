"""One durable append: Arbor beside the floor of the disk, SQLite, eventsourcing, Delta Lake."""

import os
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from uuid import uuid4

from log_events import batches, drafts
from table import Row, at_most

from arbor.events.codec import to_table
from arbor.events.durable import publish
from arbor.events.encoding import Batch
from arbor.events.ledger import Rows
from arbor.events.parquet_log import ParquetLog

GOALS = {1: 2.5, 1000: 3.0}
"""Batch to the largest ratio of Arbor's median to the floor's."""
NUM_TURNS = {1: 200, 1000: 40}
WARM_UP = 5
Append = Callable[[Batch], None]


@contextmanager
def floor(folder: Path) -> Iterator[Append]:
    """What every durable log must do at least: write the payloads to one file, and fdatasync."""
    descriptor = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append(batch: Batch) -> None:
        os.write(descriptor, "\n".join(each.payload for each in batch.drafts).encode())
        os.fdatasync(descriptor)

    try:
        yield append
    finally:
        os.close(descriptor)


@contextmanager
def new_file(folder: Path) -> Iterator[Append]:
    """What a durable file of its own costs: create, write, fsync, link, fsync the folder."""
    place = folder / "files"
    place.mkdir()
    number = count(1)

    def append(batch: Batch) -> None:
        text = "\n".join(each.payload for each in batch.drafts)
        publish(text.encode(), place / str(next(number)))

    yield append


@contextmanager
def arbor(folder: Path) -> Iterator[Append]:
    """Arbor's log."""
    with closing(ParquetLog.open(folder / "arbor", "bench")) as log:

        def append(batch: Batch) -> None:
            log.append_batch(batch)

        yield append


@contextmanager
def sqlite(folder: Path) -> Iterator[Append]:
    """SQLite, write-ahead log, every commit synced; ids unique as Arbor's are."""
    with closing(sqlite3.connect(folder / "events.sqlite")) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=full")
        connection.execute(
            "create table events (position integer primary key, event_id text unique,"
            " actor text, kind text, payload text)"
        )

        def append(batch: Batch) -> None:
            rows = [(each.event_id, each.actor, each.kind, each.payload) for each in batch.drafts]
            with connection:
                connection.executemany(
                    "insert into events (event_id, actor, kind, payload) values (?, ?, ?, ?)", rows
                )

        yield append


@contextmanager
def eventsourcing(folder: Path) -> Iterator[Append]:
    """The recorder of `eventsourcing` on SQLite, whose default syncs every commit."""
    from eventsourcing.persistence import StoredEvent  # noqa: PLC0415 - optional
    from eventsourcing.sqlite import (  # noqa: PLC0415 - optional
        SQLiteApplicationRecorder,
        SQLiteDatastore,
    )

    datastore = SQLiteDatastore(str(folder / "eventsourcing.sqlite"))
    recorder = SQLiteApplicationRecorder(datastore)
    recorder.create_table()
    aggregate, versions = uuid4(), count(1)

    def append(batch: Batch) -> None:
        recorder.insert_events(
            [
                StoredEvent(aggregate, next(versions), each.kind, each.payload.encode())
                for each in batch.drafts
            ]
        )

    with closing(datastore):
        yield append


@contextmanager
def deltalake(folder: Path) -> Iterator[Append]:
    """Delta Lake by delta-rs; it does not sync."""
    from deltalake import write_deltalake  # noqa: PLC0415 - optional

    path = str(folder / "delta")
    position = count(1)

    def append(batch: Batch) -> None:
        rows = Rows(next(position), 0, "bench", 1, batch.drafts)
        table = to_table(rows)
        keep = [name for name in table.column_names if name not in {"recorded_at", "decided_at"}]
        write_deltalake(path, table.select(keep), mode="append")

    yield append


SYSTEMS: Mapping[str, Callable[[Path], AbstractContextManager[Append]]] = {
    "floor": floor,
    "a durable new file": new_file,
    "Arbor": arbor,
    "SQLite": sqlite,
    "eventsourcing": eventsourcing,
    "deltalake": deltalake,
}


def rows(folder: Path, turns: Mapping[int, int] = NUM_TURNS) -> Iterator[Row]:
    """Yield medians of one append, and their ratios to the floor of the same turns."""
    for size, num_turns in turns.items():
        place = folder / f"append-{size}"
        place.mkdir(parents=True)
        medians = _medians(place, size, num_turns)
        least = medians["floor"]
        yield Row(
            f"floor, batch {size}",
            least * 1e3,
            "ms",
            how="median of write + fdatasync of the payloads to one file",
        )
        how = f"median of {num_turns} appends, encoded before; systems take turns, one disk"
        for name, median in medians.items():
            label = f"{name}, batch {size}"
            if name == "Arbor":
                yield at_most(label, median / least, "x floor", GOALS.get(size, 3.0), how)
            elif name != "floor":
                yield Row(label, median / least, "x floor", how=how)
        yield Row(
            f"encoding, batch {size}",
            _encoding_s(size) * 1e3,
            "ms",
            how="model to stored form and back, in the producer",
        )


def _medians(place: Path, size: int, num_turns: int) -> dict[str, float]:
    """Return the median seconds of an append of every system that is installed."""
    stream = batches(size, (num_turns + WARM_UP) * len(SYSTEMS) * size, size)
    with ExitStack() as stack:
        appends: dict[str, Append] = {}
        for name, system in SYSTEMS.items():
            try:
                appends[name] = stack.enter_context(system(place))
            except ImportError as error:
                print(f"{name} is left out: {error}; pip install '.[bench]'", flush=True)
        taken: dict[str, list[float]] = {name: [] for name in appends}
        for turn in range(num_turns + WARM_UP):
            for name, append in appends.items():
                batch = next(stream)
                begun = time.perf_counter()
                append(batch)
                if turn >= WARM_UP:
                    taken[name].append(time.perf_counter() - begun)
    return {name: statistics.median(each) for name, each in taken.items()}


def _encoding_s(size: int) -> float:
    stream = drafts(size)
    taken = []
    for _ in range(30):
        part = [next(stream) for _ in range(size)]
        begun = time.perf_counter()
        Batch.encode(part, None)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)
