"""A log of a million events: its size, proof, opening, folding, SQL, and one event more."""

import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from log_events import batches
from table import Row, at_least, at_most

from arbor.actors.journal import Journal
from arbor.actors.simulation import Simulation
from arbor.actors.snapshots import Snapshots
from arbor.core.clock import SystemClock
from arbor.core.state import CampaignState
from arbor.events.base import Draft
from arbor.events.encoding import Batch
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from arbor.events.verify import verify
from arbor.replay.projections import Projection

BATCH = 2500
NUM_NEWS = 100
TREE = "select status, count(*) from nodes group by status"
FLAT = "select kind, count(*), max(position) from events group by kind"


def make(directory: Path, num_events: int) -> float:
    """Write a sealed log, a simulated campaign first; return the seconds."""
    begun = time.perf_counter()
    simulation = Simulation(directory / "simulation")
    simulation.run()
    told = [Draft(r.event, r.event_id, r.actor, r.incarnation) for r in simulation.events()]
    with closing(ParquetLog.open(directory / "log", "bench", grace_s=0)) as log:
        log.append_batch(Batch.encode(told, None))
        for batch in batches(1, num_events - len(told), BATCH):
            log.append_batch(batch)
        log.compact()
        log.compact()
    return time.perf_counter() - begun


def rows(directory: Path, num_events: int) -> Iterator[Row]:
    """Yield what a log of this size costs."""
    made_s = make(directory, num_events)
    log = directory / "log"
    size = f"{num_events:,} events"
    yield Row(
        f"encode, append, seal {size}", num_events / made_s, "events/s", how=f"batches of {BATCH}"
    )
    sealed = sum(path.stat().st_size for path in log.rglob("*.parquet")) / num_events
    yield at_most("sealed", sealed, "bytes/event", 90.0, f"segments of {size}, all columns")
    begun = time.perf_counter()
    report = verify(log)
    taken_s = time.perf_counter() - begun
    assert report.is_sound  # noqa: S101 - a benchmark of a broken log means nothing
    assert report.num_events == num_events  # noqa: S101
    yield at_most(f"verify {size}", taken_s, "s", 6.0 * num_events / 1e6, "all of it, one process")
    yield from _resume(directory, num_events)
    yield from _sql(log, num_events)


def _resume(directory: Path, num_events: int) -> Iterator[Row]:
    log = directory / "log"
    begun = time.perf_counter()
    state = CampaignState()
    for recorded in ParquetReader(log).read():
        state.apply(recorded)
    folded_s = time.perf_counter() - begun
    yield Row("fold the state without a snapshot", folded_s, "s", how="one actor, from the files")
    snapshots = Snapshots(log, directory / "snapshots", directory / "key")
    assert snapshots.save(state)  # noqa: S101 - else there is nothing to measure
    begun = time.perf_counter()
    with closing(ParquetLog.open(log, "bench", create=False)) as opened:
        opened_s = time.perf_counter() - begun
        journal = Journal(opened, "bench", SystemClock(), snapshots)
        journal.start()
        resumed_s = time.perf_counter() - begun
    yield Row("open as the only writer", opened_s, "s", how="every digest checked, index folded")
    yield at_most(
        f"resume at {num_events:,} events",
        resumed_s,
        "s",
        10.0,
        "open as the only writer, then an actor's state from its snapshot; without Ray's start",
    )


def _sql(log: Path, num_events: int) -> Iterator[Row]:
    how = "from the files into DuckDB with all checks, then one query over every event"
    begun = time.perf_counter()
    with Projection(ParquetReader(log)) as projection:
        projection.query(FLAT)
        flat_s = time.perf_counter() - begun
        projection.query(TREE)
        tree_s = time.perf_counter() - begun
        yield at_least("SQL replay", num_events / flat_s / 1e6, "M events/s", 1.5, how)
        rate = num_events / tree_s / 1e6
        yield at_least("SQL replay with the tree", rate, "M events/s", 1.0, how)
        with closing(ParquetLog.open(log, "bench", create=False)) as opened:
            taken = []
            for batch in batches(2, NUM_NEWS, 1):
                opened.append_batch(batch)
                begun = time.perf_counter()
                projection.catch_up()
                taken.append(time.perf_counter() - begun)
    yield at_most(
        "SQL catches up with one event",
        statistics.median(taken) * 1e3,
        "ms",
        5.0,
        f"median of {NUM_NEWS}, in the projection of {num_events:,} events",
    )
