"""What the sensors of a window's devices say together: pure arithmetic on samples."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from arbor.events.types import NotObserved
from arbor.targets.hardware.reading import Reading, Readings

# an MI100's counter was wrong by a constant factor (ROCm/amdsmi#38), an R9700's stays at 0
_COUNTER_FACTOR = 2.0
_MEAN_S = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the sensors.

    Attributes:
        at_s: moment of the look.
        readings: what was seen.
        is_inside: whether the window ran; counters alone are read before and after it.
    """

    at_s: float
    readings: Readings
    is_inside: bool = True


@dataclass(frozen=True, slots=True)
class WindowTelemetry:
    """Sensors over a window; None where not every device could be observed.

    Attributes:
        num_samples: looks inside of the window that saw something.
        clock_mhz_mean: mean clock over time and devices.
        clock_mhz_min: the slowest die's at any moment.
        energy_j: energy of all devices.
        power_w_mean: their mean power together.
        temperature_c_max: hottest spot.
        num_throttlings: times that power or heat began to lower a clock; a window that began
            with a low clock counts once.
        memory_used_bytes_max: most memory that was in use, all devices together.
        not_observed: what is missing, and why.
    """

    num_samples: int = 0
    clock_mhz_mean: float | None = None
    clock_mhz_min: float | None = None
    energy_j: float | None = None
    power_w_mean: float | None = None
    temperature_c_max: float | None = None
    num_throttlings: int | None = None
    memory_used_bytes_max: int | None = None
    not_observed: tuple[NotObserved, ...] = ()

    def window_fields(self) -> dict[str, float | int | None]:
        """Return what a `WindowSample` can hold."""
        return {
            "clock_mhz_mean": self.clock_mhz_mean,
            "num_throttlings": self.num_throttlings,
            "energy_j": self.energy_j,
        }


@dataclass(frozen=True, slots=True)
class _Look:
    """One device in one sample."""

    at_s: float
    reading: Reading
    is_inside: bool


_Track = Sequence[_Look]


def summarise(
    samples: Sequence[Sample], devices: Iterable[int], duration_s: float
) -> WindowTelemetry:
    """Return what the samples say about a window.

    Energy is mean power over the window's duration, since counters are read a little outside.
    Power and clocks outside are those of an idle device and enter nothing.

    Args:
        samples: in order of time.
        devices: numbers of the devices in use.
        duration_s: length of the window.
    """
    wanted = sorted(set(devices))
    tracks = [_track(samples, index) for index in wanted]
    problems = [sample.readings.problem for sample in samples if sample.readings.problem]
    if not wanted or not all(tracks):
        missing = [index for index, track in zip(wanted, tracks, strict=True) if not track]
        reason = problems[0] if problems else f"no reading of devices {missing}"
        gap = NotObserved(what="telemetry", reason=reason)
        return WindowTelemetry(not_observed=(gap,))
    power_w = _sum([_mean_power_w(track) for track in tracks])
    telemetry = WindowTelemetry(
        num_samples=sum(1 for sample in samples if sample.is_inside and sample.readings.devices),
        clock_mhz_mean=_mean(_mean_clock_mhz(track) for track in tracks),
        clock_mhz_min=min(_values(tracks, "clock_mhz_min", is_inside=True), default=None),
        energy_j=power_w * duration_s if power_w is not None else None,
        power_w_mean=power_w,
        temperature_c_max=max(_values(tracks, "temperature_c"), default=None),
        num_throttlings=_whole(_sum([_num_throttlings(track) for track in tracks])),
        memory_used_bytes_max=_whole(_sum([_most_memory_bytes(track) for track in tracks])),
    )
    return _with_gaps(telemetry, problems)


def _track(samples: Sequence[Sample], index: int) -> _Track:
    return [
        _Look(sample.at_s, reading, sample.is_inside)
        for sample in samples
        for reading in sample.readings.devices
        if reading.index == index
    ]


def _mean_power_w(track: _Track) -> float | None:
    """Return the mean power: by the energy counter where power does not contradict it."""
    power_w = _sampled_power_w(track)
    energies = [(look.at_s, look.reading.energy_j) for look in track]
    counted = [(at_s, energy_j) for at_s, energy_j in energies if energy_j is not None]
    if len(counted) < 2 or counted[-1][0] <= counted[0][0]:
        return power_w
    counter_w = (counted[-1][1] - counted[0][1]) / (counted[-1][0] - counted[0][0])
    # a counter that ran over seems to fall
    is_wrong = counter_w <= 0 or (
        power_w is not None
        and not 1 / _COUNTER_FACTOR <= counter_w / max(power_w, 1e-9) <= _COUNTER_FACTOR
    )
    return power_w if is_wrong else counter_w


def _sampled_power_w(track: _Track) -> float | None:
    """Return the mean of samples: of one-second means where they cover the window.

    Moments of a load in bursts are sampled by chance: on an H200 they were off by 7 and 17 %
    where one-second means were within 1 % of the driver's energy counter. A mean needs a second
    to forget what was before the window: it was 20 % too low in a window of 1.5 s.
    """
    inside = [look for look in track if look.is_inside]
    if not inside:
        return None
    before_s = [look.at_s for look in track if not look.is_inside and look.at_s < inside[0].at_s]
    means = [(look.at_s, look.reading.power_last_second_w) for look in inside]
    settled_s = (before_s or [inside[0].at_s])[-1] + _MEAN_S
    settled = [(at_s, mean) for at_s, mean in means if mean is not None and at_s >= settled_s]
    if settled and settled[-1][0] - settled[0][0] >= _MEAN_S:
        return _time_mean(settled)
    return _time_mean([(look.at_s, look.reading.power_w) for look in inside])


def _mean_clock_mhz(track: _Track) -> float | None:
    return _time_mean([(look.at_s, look.reading.clock_mhz) for look in track if look.is_inside])


def _time_mean(points: Sequence[tuple[float, float | None]]) -> float | None:
    """Return the mean over time by trapezoids; None without a value."""
    known = [(at_s, value) for at_s, value in points if value is not None]
    if not known or known[-1][0] <= known[0][0]:
        return known[0][1] if known else None
    area = sum(
        (later_s - earlier_s) * (low + high) / 2
        for (earlier_s, low), (later_s, high) in pairwise(known)
    )
    return area / (known[-1][0] - known[0][0])


def _num_throttlings(track: _Track) -> int | None:
    """Return how often throttling began; a counter that grew between two looks tells as well."""
    flags = [look.reading.is_throttled if look.is_inside else None for look in track]
    counters = [look.reading.throttled for look in track]
    if len([counter for counter in counters if counter is not None]) < 2 and not any(
        flag is not None for flag in flags
    ):
        return None
    grown = [False, *(_has_grown(before, now) for before, now in pairwise(counters))]
    states = [bool(flag) or has_grown for flag, has_grown in zip(flags, grown, strict=True)]
    return sum(1 for before, now in pairwise([False, *states]) if now and not before)


def _has_grown(before: float | None, now: float | None) -> bool:
    return before is not None and now is not None and now > before


def _most_memory_bytes(track: _Track) -> int | None:
    used = [look.reading.memory_used_bytes for look in track]
    return max((amount for amount in used if amount is not None), default=None)


def _values(tracks: Sequence[_Track], name: str, *, is_inside: bool = False) -> list[float]:
    found = [
        getattr(look.reading, name)
        for track in tracks
        for look in track
        if look.is_inside or not is_inside
    ]
    return [value for value in found if value is not None]


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _mean(values: Iterable[float | None]) -> float | None:
    every = list(values)
    known = [value for value in every if value is not None]
    return fmean(known) if len(known) == len(every) else None


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None else None


def _with_gaps(telemetry: WindowTelemetry, problems: Sequence[str]) -> WindowTelemetry:
    missing = [name for name, value in telemetry.window_fields().items() if value is None]
    reason = problems[0] if problems else "the tool does not tell"
    gaps = tuple(NotObserved(what=name, reason=reason) for name in missing)
    return replace(telemetry, not_observed=gaps)
