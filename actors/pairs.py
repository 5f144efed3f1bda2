"""A pair of windows: how it is played, when it counts, and planned numbers of them."""

import math
from collections.abc import Callable

from pydantic import Field

from arbor.events.types import Value, WindowSample

SEED_STRIDE = 7919
"""Distance of the seeds of adjacent pairs: both arms of a pair share one, no two pairs do."""


class PlayedPair(Value):
    """Two adjacent windows of equal seeded work; the fields of ``PairMeasured`` that it fills."""

    pair: int = Field(ge=1)
    start: int = Field(ge=1)
    """Which server start of each arm the pair was played on."""
    is_candidate_first: bool
    candidate: WindowSample
    incumbent: WindowSample
    log_ratio: float
    """Natural logarithm of candidate over incumbent."""
    is_valid: bool
    flaw: str | None
    """Why the pair does not count."""


def play_pair(
    number: int,
    start: int,
    candidate: Callable[[], WindowSample],
    incumbent: Callable[[], WindowSample],
    max_foreign_cpu_difference: float,
) -> PlayedPair:
    """Play both windows of a pair, the candidate's first in odd pairs.

    Args:
        number: number of the pair, from 1.
        start: number of the server start of each arm.
        candidate: plays the candidate's window.
        incumbent: plays the incumbent's window.
        max_foreign_cpu_difference: foreign load of the arms may differ by this share of the
            cores.

    Raises:
        ServerFailedError: a server failed.
    """
    is_candidate_first = number % 2 == 1
    if is_candidate_first:
        ours, theirs = candidate(), incumbent()
    else:
        theirs, ours = incumbent(), candidate()
    flaw = _flaw(ours, theirs, max_foreign_cpu_difference)
    return PlayedPair(
        pair=number,
        start=start,
        is_candidate_first=is_candidate_first,
        candidate=ours,
        incumbent=theirs,
        log_ratio=math.log(max(ours.throughput_tok_s, 1e-9) / max(theirs.throughput_tok_s, 1e-9)),
        is_valid=flaw is None,
        flaw=flaw,
    )


def _flaw(
    candidate: WindowSample, incumbent: WindowSample, max_foreign_cpu_difference: float
) -> str | None:
    """Return why a pair does not count, judged by load alone and never by its ratio.

    Load that both arms saw alike cancels out of the ratio; load on one arm does not.
    """
    seen = candidate.foreign_cpu_ratio or 0.0, incumbent.foreign_cpu_ratio or 0.0
    if abs(seen[0] - seen[1]) <= max_foreign_cpu_difference:
        return None
    return f"foreign processes took {seen[0]:.0%} and {seen[1]:.0%} of the cores"


def planned(num_pairs: int, first: int, measure: Callable[[int], float | None]) -> list[float]:
    """Measure a planned number of valid pairs; flawed ones are repeated once each.

    Args:
        num_pairs: valid pairs that are wanted.
        first: number of the first pair.
        measure: measures the pair of a number; returns its log ratio, None when it is flawed.

    Returns:
        The log ratios of the valid pairs, at most ``num_pairs``.
    """
    values: list[float] = []
    for number in range(first, first + 2 * num_pairs):
        value = measure(number)
        values += [] if value is None else [value]
        if len(values) >= num_pairs:
            break
    return values
