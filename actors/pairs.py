"""A pair of windows: how it is played, when it counts, and planned numbers of them."""

import math
from collections.abc import Callable, Sequence

from pydantic import Field

from arbor.core.measure.foreign import load_flaw
from arbor.core.measure.objective import objective_value
from arbor.events.types import Load, Objective, Value, WindowSample

SEED_STRIDE = 7919
"""Distance of the seeds of adjacent pairs: both arms of a pair share one, no two pairs do."""

ArmPlay = Callable[[], Sequence[WindowSample]]
"""Plays one arm's windows: one or more of equal work, or one for every concurrency of a sweep."""
Play = Callable[[bool], tuple[Sequence[WindowSample], Sequence[WindowSample]]]
"""Plays both arms, the candidate first when told so; returns the candidate's windows first."""


def one_by_one(candidate: ArmPlay, incumbent: ArmPlay) -> Play:
    """Return how whole windows are played, those of one arm after those of the other."""

    def play(
        is_candidate_first: bool,
    ) -> tuple[Sequence[WindowSample], Sequence[WindowSample]]:
        if is_candidate_first:
            ours, theirs = candidate(), incumbent()
        else:
            theirs, ours = incumbent(), candidate()
        return ours, theirs

    return play


class PlayedPair(Value):
    """Adjacent windows of equal seeded work; the fields of ``PairMeasured`` that it fills."""

    pair: int = Field(ge=1)
    start: int = Field(ge=1)
    """Which server start of each arm the pair was played on."""
    is_candidate_first: bool
    candidate: WindowSample
    incumbent: WindowSample
    candidate_sweep: tuple[WindowSample, ...] = ()
    incumbent_sweep: tuple[WindowSample, ...] = ()
    log_ratio: float
    """Natural logarithm of candidate over incumbent, of the objective's values."""
    is_valid: bool
    flaw: str | None
    """Why the pair does not count."""


WINDOW_SEED_STRIDE = 104_729
"""Distance of the seeds of a candidate's windows in one pair."""


def loads_of(objective: Objective, load: Load) -> list[Load]:
    """Return the loads of one arm's windows: one, or one for every concurrency of a sweep."""
    if objective.metric != "hypervolume":
        return [load]
    return [load.model_copy(update={"concurrency": c}) for c in objective.sweep]


def play_pair(
    number: int,
    start: int,
    play: Play,
    *,
    objective: Objective,
    num_devices: int,
    max_foreign_cpu_difference: float,
) -> PlayedPair:
    """Play both arms of a pair, the candidate first in odd pairs.

    Args:
        number: number of the pair, from 1.
        start: number of the server start of each arm.
        play: plays both arms.
        objective: what a window is worth.
        num_devices: accelerators of the stack.
        max_foreign_cpu_difference: foreign load of the arms may differ by this share of the
            cores.

    Raises:
        ServerFailedError: a server failed.
    """
    is_candidate_first = number % 2 == 1
    ours, theirs = play(is_candidate_first)
    flaw = load_flaw(ours, theirs, max_foreign_cpu_difference)
    own_value, other_value = (
        objective_value(windows, objective, num_devices) for windows in (ours, theirs)
    )
    return PlayedPair(
        pair=number,
        start=start,
        is_candidate_first=is_candidate_first,
        candidate=ours[0],
        incumbent=theirs[0],
        candidate_sweep=tuple(ours[1:]),
        incumbent_sweep=tuple(theirs[1:]),
        log_ratio=math.log(own_value / other_value),
        is_valid=flaw is None,
        flaw=flaw,
    )


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
