"""What a device can do at most, and how near a time comes to it."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from arbor.kernels.base import Work
from arbor.kernels.harness.percentile import median


@dataclass(frozen=True, slots=True)
class Peak:
    """Peaks of a device; the caller knows the figures.

    Attributes:
        bytes_per_s: memory bandwidth.
        flop_per_s: matrix operations by format, such as ``bf16``; missing ones bound nothing.
    """

    bytes_per_s: float
    flop_per_s: Mapping[str, float]

    def least_us(self, work: Work) -> float:
        """Return the shortest possible time of some work."""
        moving = work.num_bytes / self.bytes_per_s
        rate = self.flop_per_s.get(work.flop_format)
        computing = work.num_flop / rate if rate else 0.0
        return 1e6 * max(moving, computing)

    def ratio(self, work: Work, time_us: float) -> float:
        """Return the share of the peak that a time reaches."""
        return self.least_us(work) / time_us


def timing_events() -> tuple[torch.cuda.Event, torch.cuda.Event]:
    """Return two events that tell the time between them."""
    start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    return start, end


def measured_copy_bytes_per_s(num_bytes: int, num_copies: int = 20) -> float:
    """Return the bandwidth of PyTorch's copy, read and written bytes counted.

    Args:
        num_bytes: of the source; many times the cache.
        num_copies: timed copies, of which the median counts.
    """
    source = torch.empty(num_bytes, dtype=torch.uint8, device="cuda").fill_(1)
    target = torch.empty_like(source)
    times_s = []
    for number in range(num_copies + 3):
        start, end = timing_events()
        start.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        # the first copies warm up
        if number >= 3:
            times_s.append(start.elapsed_time(end) / 1e3)
    return 2 * num_bytes / median(times_s)
