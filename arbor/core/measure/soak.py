"""Whether a stack stood a stretch of peak load."""

import statistics

from arbor.events.evidence import SoakMeasured

MIN_STEADY_RATIO = 0.85
"""Throughput of the last third of the windows over that of the first third."""
MAX_GROWTH_RATIO = 1.25
"""Resident memory at the end over that after the first third."""
MIN_GROWTH_BYTES = 64 << 20
"""Less growth than this is no leak that a soak could show."""


def soak_violation(soak: SoakMeasured) -> str | None:
    """Return how a stack failed under peak load, or None: failures, decay, growing memory."""
    failed = sum(window.num_failed for window in soak.windows)
    if failed:
        return f"{failed} requests failed at concurrency {soak.concurrency}"
    third = max(1, len(soak.windows) // 3)
    speeds = [window.throughput_tok_s for window in soak.windows]
    steady = statistics.median(speeds[-third:]) / max(statistics.median(speeds[:third]), 1e-9)
    if steady < MIN_STEADY_RATIO:
        return f"throughput fell to {steady:.0%} of its start at concurrency {soak.concurrency}"
    sizes = soak.server_rss_bytes
    if len(sizes) > third:
        begun, ended = sizes[third - 1], sizes[-1]
        if ended > begun * MAX_GROWTH_RATIO and ended - begun > MIN_GROWTH_BYTES:
            return f"memory grew from {begun >> 20} to {ended >> 20} MiB at steady load"
    return None


def soak_summary(soak: SoakMeasured) -> str:
    """Return one line about a soak."""
    seconds = sum(window.duration_s for window in soak.windows)
    speed = statistics.median(window.throughput_tok_s for window in soak.windows)
    requests = sum(window.num_completed for window in soak.windows)
    return (
        f"{requests} requests in {seconds:.1f} s at concurrency {soak.concurrency}, "
        f"{speed:.0f} tok/s, none failed"
    )
