"""One profile from the times of several devices or ranks."""

import statistics
from collections.abc import Sequence

from arbor.events.types import CategoryShare, KernelShare, PhaseShares, Profile
from arbor.targets.profiles.timeline import Measured, NamedTime, Phase, Times

_MAX_KERNELS = 24
_MAX_NAME_CHARACTERS = 160
# a front or an idle device beside the workers
_MIN_PART_OF_BUSIEST = 0.1
_PHASES: tuple[Phase, ...] = ("prefill", "decode")


def profile_of(measured: Sequence[Measured], source: str) -> Profile:
    """Return the profile of a stack; medians over its ranks, so that no skew of one decides.

    Ranks with less than a tenth of the busiest one's time are left out.

    Args:
        measured: one for each device or rank, with some time in one of them.
        source: the tool.
    """
    busiest_s = max(each.total_s for each in measured)
    ranks = [each for each in measured if each.total_s >= _MIN_PART_OF_BUSIEST * busiest_s]
    times = _median_times([each.times for each in ranks])
    return Profile(
        shares=_shares(times),
        window_s=statistics.median(each.window_s for each in ranks),
        source=source,
        idle_ratio=_part([(r.busy_s, r.window_s) for r in ranks], is_rest=True),
        exposed_comm_ratio=_part([(r.exposed_comm_s, r.window_s) for r in ranks]),
        num_ranks=len(ranks),
        num_streams=max((r.num_streams for r in ranks if r.num_streams is not None), default=None),
        phases=_phases(ranks),
        kernels=_kernels(ranks),
    )


def _shares(times: Times) -> tuple[CategoryShare, ...]:
    total_s = sum(times.values())
    return tuple(
        CategoryShare(category=category, share_ratio=min(time_s / total_s, 1.0))
        for category, time_s in sorted(times.items(), key=lambda item: -item[1])
    )


def _median_times(ranks: Sequence[Times]) -> Times:
    found = {category for times in ranks for category in times}
    medians: Times = {
        category: statistics.median(times.get(category, 0.0) for times in ranks)
        for category in found
    }
    known: Times = {category: time_s for category, time_s in medians.items() if time_s > 0}
    return known or dict(ranks[0])


def _part(pairs: Sequence[tuple[float | None, float]], *, is_rest: bool = False) -> float | None:
    """Return the median part of the window; None where no rank has a timeline."""
    known = [
        part_s / window_s for part_s, window_s in pairs if part_s is not None and window_s > 0
    ]
    if not known:
        return None
    ratio = min(max(statistics.median(known), 0.0), 1.0)
    return 1.0 - ratio if is_rest else ratio


def _phases(ranks: Sequence[Measured]) -> tuple[PhaseShares, ...]:
    by_phase = {
        phase: _median_times([rank.phases.get(phase, {}) for rank in ranks])
        for phase in _PHASES
        if any(rank.phases.get(phase) for rank in ranks)
    }
    total_s = sum(sum(times.values()) for times in by_phase.values())
    return tuple(
        PhaseShares(
            phase=phase,
            share_ratio=min(sum(times.values()) / total_s, 1.0),
            shares=_shares(times),
        )
        for phase, times in by_phase.items()
        if times
    )


def _kernels(ranks: Sequence[Measured]) -> tuple[KernelShare, ...]:
    """Return the kernels that took most time, over all ranks."""
    total_s = sum(rank.total_s for rank in ranks)
    merged: dict[str, NamedTime] = {}
    for each in (named for rank in ranks for named in rank.names):
        before = merged.get(each.name)
        if before is not None:
            time_s, num_calls = before.time_s + each.time_s, before.num_calls + each.num_calls
            merged[each.name] = NamedTime(each.name, each.category, time_s, num_calls)
        else:
            merged[each.name] = each
    most = sorted(merged.values(), key=lambda named: (-named.time_s, named.name))[:_MAX_KERNELS]
    return tuple(
        KernelShare(
            name=named.name[:_MAX_NAME_CHARACTERS],
            category=named.category,
            share_ratio=min(named.time_s / total_s, 1.0),
            num_calls=named.num_calls,
        )
        for named in most
    )
