"""The keeper through Ray: eight batching producers, and how soon a follower sees an event."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from log_events import batches
from table import Row, at_least, at_most

from arbor.actors import ray_environment
from arbor.actors.keeper import KeptLog

NUM_PRODUCERS = 8
BATCH = 500
NUM_BATCHES = 40
NUM_SINGLES = 400
PAUSE_S = 0.01
"""Between single events, so that a follower waits for each."""
CAMPAIGN = "bench"


def rows(directory: Path, floor_s: float) -> Iterator[Row]:
    """Yield throughput and visibility through Ray.

    Args:
        directory: an empty folder for a campaign.
        floor_s: seconds of write + fdatasync of 1000 events on the same disk.
    """
    ray_environment.prepare()
    import ray  # noqa: PLC0415 - after its environment

    from arbor.actors.cluster import Cluster, connect, disconnect  # noqa: PLC0415

    connect(NUM_PRODUCERS)
    cluster = Cluster(directory, CAMPAIGN)
    try:
        yield from _throughput(ray, directory, floor_s)
        yield from _visibility(ray, directory)
    finally:
        cluster.stop(5.0)
        disconnect()


def _log(directory: Path) -> KeptLog:
    from arbor.actors.ray_actors import kept_log  # noqa: PLC0415 - in the worker

    return kept_log(directory, CAMPAIGN)


def _produce(directory: Path, seed: int, begins_at: float) -> tuple[float, float]:
    """Append batches one after the other; return when this began and ended, monotonic seconds."""
    log = _log(directory)
    encoded = list(batches(seed, NUM_BATCHES * BATCH, BATCH))
    time.sleep(max(0.0, begins_at - time.monotonic()))
    begun = time.monotonic()
    for batch in encoded:
        log.append_batch(batch)
    return begun, time.monotonic()


def _throughput(ray: Any, directory: Path, floor_s: float) -> Iterator[Row]:
    produce = ray.remote(num_cpus=1)(_produce)
    # Processes start and encode before the clock does.
    begins_at = time.monotonic() + 30.0
    spans = ray.get([produce.remote(directory, seed, begins_at) for seed in range(NUM_PRODUCERS)])
    taken_s = max(end for _, end in spans) - min(begun for begun, _ in spans)
    num_events = NUM_PRODUCERS * NUM_BATCHES * BATCH
    how = f"{NUM_PRODUCERS} processes, batches of {BATCH}, each acknowledged before the next"
    yield at_least(
        "producers through Ray, encoded before", num_events / taken_s, "events/s", 25_000.0, how
    )
    yield Row(
        "the same, against the floor",
        taken_s / num_events / (floor_s / 1000.0),
        "x floor",
        how="seconds of an event over those of write + fdatasync in batches of 1000",
    )


def _follow(directory: Path, num_events: int) -> list[float]:
    """Return when each new event was seen, monotonic seconds."""
    log = _log(directory)
    position = log.head().position
    seen: list[float] = []
    while len(seen) < num_events:
        log.wait_beyond(position, 10.0)
        for recorded in log.read(position):
            position = recorded.position
            seen.append(time.monotonic())
    return seen


def _visibility(ray: Any, directory: Path) -> Iterator[Row]:
    log = _log(directory)
    following = ray.remote(num_cpus=1)(_follow).remote(directory, NUM_SINGLES)
    time.sleep(5.0)
    acknowledged = []
    for batch in batches(99, NUM_SINGLES, 1):
        log.append_batch(batch)
        acknowledged.append(time.monotonic())
        time.sleep(PAUSE_S)
    seen = ray.get(following)
    delays = [max(0.0, late - ack) for late, ack in zip(seen, acknowledged, strict=True)]
    cuts = statistics.quantiles(delays, n=100)
    how = f"{NUM_SINGLES} single events, one follower in another process, keeper through Ray"
    yield at_most("acknowledged to seen, p99", cuts[98] * 1e3, "ms", 5.0, how)
    yield Row("acknowledged to seen, p50", cuts[49] * 1e3, "ms", how=how)
