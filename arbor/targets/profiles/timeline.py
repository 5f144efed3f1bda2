"""What ran on one device and when: sums by category, busy time, exposed communication, phases."""

from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from arbor.targets.profiles.categories import Category

Phase = Literal["prefill", "decode"]
Floats = npt.NDArray[np.float64]
Times = dict[Category, float]


class Ticks:
    """Seconds since the first time of a file; a clock's own large numbers would cost digits.

    Args:
        tick_s: unit of the file.
    """

    def __init__(self, tick_s: float) -> None:
        self._tick_s = tick_s
        self._origin: float | None = None

    def seconds(self, ticks: float) -> float:
        """Return a time in seconds."""
        if self._origin is None:
            self._origin = ticks
        return (ticks - self._origin) * self._tick_s


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a serving engine.

    Attributes:
        start_s: when its first kernel started.
        end_s: when its last kernel ended.
        phase: ``prefill`` when prompt tokens were part of it.
    """

    start_s: float
    end_s: float
    phase: Phase


@dataclass(frozen=True, slots=True)
class NamedTime:
    """Time of all kernels of one name."""

    name: str
    category: Category
    time_s: float
    num_calls: int


@dataclass(frozen=True, slots=True)
class Measured:
    """Times of one device.

    Attributes:
        window_s: first kernel's start to last kernel's end, inside the steps when there are some.
        times: sum of the kernels' times by category; streams beside each other add up.
        names: the same by name.
        phases: the same by phase and category, of kernels inside steps.
        busy_s: time in which at least one kernel ran; None when no timeline is known.
        exposed_comm_s: time of communication while nothing was computed.
        num_streams: streams, queues or threads that worked.
    """

    window_s: float
    times: Times
    names: tuple[NamedTime, ...]
    phases: dict[Phase, Times]
    busy_s: float | None = None
    exposed_comm_s: float | None = None
    num_streams: int | None = None

    @property
    def total_s(self) -> float:
        """Sum of all kernels' times."""
        return sum(self.times.values())


class Timeline:
    """Collects kernels, as numbers only: 28 bytes for each.

    Args:
        category_of: category of a kernel's name.
    """

    def __init__(self, category_of: Callable[[str], Category]) -> None:
        self._category_of = category_of
        self._names: dict[str, int] = {}
        self._starts = array("d")
        self._ends = array("d")
        self._name_ids = array("l")
        self._calls = array("i")
        self._streams: set[Hashable] = set()

    def add(
        self, name: str, start_s: float, end_s: float, stream: Hashable, num_calls: int = 1
    ) -> None:
        """Take one kernel; a part of one that was counted before has no calls."""
        self._starts.append(start_s)
        self._ends.append(max(start_s, end_s))
        self._name_ids.append(self._names.setdefault(name, len(self._names)))
        self._calls.append(num_calls)
        self._streams.add(stream)

    def __len__(self) -> int:
        return len(self._starts)

    def measure(self, steps: Sequence[Step] = ()) -> Measured:
        """Return the times of what was collected.

        Args:
            steps: kernels before the first and after the last one are left out; all count when
                there are none, or none with kernels.
        """
        starts, ends = np.asarray(self._starts), np.asarray(self._ends)
        names, calls = np.asarray(self._name_ids), np.asarray(self._calls)
        if steps:
            first, last = min(s.start_s for s in steps), max(s.end_s for s in steps)
            is_inside = (starts >= first) & (starts <= last)
            if is_inside.any():
                starts, ends = starts[is_inside], ends[is_inside]
                names, calls = names[is_inside], calls[is_inside]
        categories = [self._category_of(name) for name in self._names]
        durations = ends - starts
        is_comm = _is_any(categories, names, {"comm"})
        is_compute = ~_is_any(categories, names, {"comm", "memcpy"})
        computing_s = _covered(starts[is_compute], ends[is_compute])
        is_either = is_comm | is_compute
        return Measured(
            window_s=float(ends.max() - starts.min()) if len(starts) else 0.0,
            times=_times(categories, names, durations),
            names=self._named(categories, names, durations, calls),
            phases={
                phase: _times(categories, names[mask], durations[mask])
                for phase, mask in _phase_masks(starts, steps).items()
                if mask.any()
            },
            busy_s=_covered(starts, ends),
            exposed_comm_s=_covered(starts[is_either], ends[is_either]) - computing_s,
            num_streams=len(self._streams),
        )

    def _named(
        self,
        categories: Sequence[Category],
        names: npt.NDArray[np.int64],
        durations: Floats,
        calls: npt.NDArray[np.int64],
    ) -> tuple[NamedTime, ...]:
        times_s = np.bincount(names, durations, len(self._names))
        num_calls = np.bincount(names, calls, len(self._names))
        return tuple(
            NamedTime(name, categories[index], float(times_s[index]), round(num_calls[index]))
            for name, index in self._names.items()
            if times_s[index] > 0
        )


def _times(
    categories: Sequence[Category], names: npt.NDArray[np.int64], durations: Floats
) -> Times:
    times: Times = {}
    for index, time_s in enumerate(np.bincount(names, durations, len(categories))):
        if time_s > 0:
            category = categories[index]
            times[category] = times.get(category, 0.0) + float(time_s)
    return times


def _is_any(
    categories: Sequence[Category], names: npt.NDArray[np.int64], wanted: set[Category]
) -> npt.NDArray[np.bool_]:
    table = np.asarray([category in wanted for category in categories], dtype=np.bool_)
    picked: npt.NDArray[np.bool_] = table[names] if len(names) else np.zeros(0, dtype=np.bool_)
    return picked


def _covered(starts: Floats, ends: Floats) -> float:
    """Return the length of the union of intervals."""
    if not len(starts):
        return 0.0
    order = np.argsort(starts)
    begins, reached = starts[order], np.maximum.accumulate(ends[order])
    gaps = np.maximum(begins[1:] - reached[:-1], 0.0)
    return float(reached[-1] - begins[0] - gaps.sum())


def _phase_masks(starts: Floats, steps: Sequence[Step]) -> dict[Phase, npt.NDArray[np.bool_]]:
    """Return for each phase which kernels started in one of its steps."""
    if not steps:
        return {}
    ordered = sorted(steps, key=lambda step: step.start_s)
    index = np.searchsorted([s.start_s for s in ordered], starts, side="right") - 1
    ends = np.asarray([s.end_s for s in ordered])
    is_prefill = np.asarray([s.phase == "prefill" for s in ordered])
    is_inside = (index >= 0) & (starts <= ends[index])
    return {
        "prefill": is_inside & is_prefill[index],
        "decode": is_inside & ~is_prefill[index],
    }
