"""How fast a log of a million events becomes tables: flat, with the tree, one event later.

Run ``python benchmarks/replay_speed.py``; ``--log DIR`` keeps the synthetic log for the next run.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from synthetic_log import CAMPAIGN_ID, write_log
from table import Row, at_least, at_most, publish

from arbor.core.layout import CampaignDirectory
from arbor.events.base import Draft
from arbor.events.ids import uuid7
from arbor.events.ledger import utc_now
from arbor.events.life import HealthReported
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from arbor.replay.database import CampaignDatabase

FLAT = "select kind, actor, count(*), max(decided_after) from events group by all"
"""Reads every row; what it keeps are counts by kind and actor."""
TREE = "select status, count(*), avg(effect_ratio) from nodes group by status"
NUM_RUNS = 3
NUM_EVENTS_AFTER = 50
HOW = (
    "median of {runs} runs, each a new reader and a new database: find the files, check every"
    " seal, make the views, answer; {mb:.0f} MB on disk in {segments} segments, {bytes:.0f}"
    " bytes an event, in the page cache"
)
HOW_AFTER = (
    "each of {num} events appended durably, then the time of catch_up: find the file, check its"
    " seal, insert, move the position on; one transaction"
)


def seconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def answer(log: Path, query: str) -> None:
    """Open a log as `arbor sql` does and answer one query."""
    with CampaignDatabase(ParquetReader(log)) as database:
        database.query(query)


def catch_ups(log: Path) -> list[float]:
    """Return the milliseconds in which a database takes in one event, over and over."""
    found = []
    with CampaignDatabase(ParquetReader(log)) as database:
        writer = ParquetLog.open(log, CAMPAIGN_ID)
        for number in range(NUM_EVENTS_AFTER):
            event = HealthReported(subject="benchmark", is_healthy=True, detail=str(number))
            writer.append([Draft(event, uuid7(utc_now()), "supervisor")])
            found.append(1000.0 * seconds(database.catch_up))
        writer.close()
    return found


def measure(directory: Path, num_events: int) -> list[Row]:
    """Return the figures of a log."""
    log = CampaignDirectory(directory).log
    segments = [path for path in (log / "segments").iterdir() if path.stat().st_size]
    num_bytes = sum(path.stat().st_size for path in segments)
    how = HOW.format(
        runs=NUM_RUNS, mb=num_bytes / 1e6, segments=len(segments), bytes=num_bytes / num_events
    )
    flat_s = statistics.median(seconds(lambda: answer(log, FLAT)) for _ in range(NUM_RUNS))
    tree_s = statistics.median(seconds(lambda: answer(log, TREE)) for _ in range(NUM_RUNS))
    after_ms = catch_ups(log)
    how_after = HOW_AFTER.format(num=NUM_EVENTS_AFTER)
    return [
        at_least("SQL replay, flat", num_events / flat_s / 1e6, "M events/s", 1.5, how),
        at_least("SQL replay with the tree", num_events / tree_s / 1e6, "M events/s", 1.0, how),
        at_most("catch up with one event, p50", statistics.median(after_ms), "ms", 5.0, how_after),
        Row("catch up with one event, slowest", max(after_ms), "ms", how=how_after),
    ]


def main() -> int:
    """Measure; return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-events", type=int, default=1_000_000)
    parser.add_argument("--log", type=Path, help="directory of a log to keep and use again")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = chosen.log or Path(folder) / "campaign"
        if not CampaignDirectory(directory).log.is_dir():
            print(f"writing {chosen.num_events} events, about {chosen.num_events / 1e4:.0f} s")
            write_log(directory, chosen.num_events)
        return publish("replay_speed", measure(directory, chosen.num_events))


if __name__ == "__main__":
    raise SystemExit(main())
