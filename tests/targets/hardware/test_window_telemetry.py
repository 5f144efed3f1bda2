"""What samples say about a window: a recorded one, counters, gaps."""

from datetime import datetime
from pathlib import Path

import pytest

from arbor.targets.hardware.nvidia import NvidiaReader
from arbor.targets.hardware.reading import Reading, Readings
from arbor.targets.hardware.window_telemetry import Sample, summarise
from tests.fakes.vendor_tools import VendorTools

SERIES = Path(__file__).with_name("data") / "nvidia_smi_series.csv"


def _samples(*readings: Reading, step_s: float = 1.0) -> list[Sample]:
    """Return samples of one device; the first and the last lie outside of the window."""
    last = len(readings) - 1
    return [
        Sample(step_s * number, Readings((reading,)), 0 < number < last)
        for number, reading in enumerate(readings)
    ]


def test_a_recorded_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six seconds of matrix products on an H200 at its power limit of 700 W."""
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = VendorTools(tmp_path)
    head, *lines = SERIES.read_text().splitlines()
    samples = []
    for number, line in enumerate(lines):
        at, _, row = line.partition(", ")
        # the recording lacks the old name and two counters: this driver refuses them
        refused = "clocks_throttle_reasons.active sw_thermal_slowdown hw_power_brake_slowdown"
        arms = "\n".join(
            f"*{name}*) echo 'Field \"{full}\" is not a valid field to query.'; exit 2 ;;"
            for name in refused.split()
            for full in [name if "." in name else f"clocks_event_reasons_counters.{name}"]
        )
        table = f"{head.partition(', ')[2]}\n{row}"
        tools.runs("nvidia-smi", f"case \"$1\" in {arms}\nesac\necho '{table}'")
        moment = datetime.strptime(f"{at} +0000", "%Y/%m/%d %H:%M:%S.%f %z")
        is_inside = 5 <= number < len(lines) - 1
        samples.append(Sample(moment.timestamp(), NvidiaReader()(), is_inside))
    seen = summarise(samples, [0], duration_s=6.0)
    assert seen.num_samples == len(lines) - 6
    assert seen.num_throttlings == 1
    assert seen.power_w_mean == pytest.approx(690, rel=0.03)
    assert seen.energy_j == pytest.approx(6.0 * (seen.power_w_mean or 0.0))
    assert seen.clock_mhz_mean == pytest.approx(1475, rel=0.03)
    assert seen.clock_mhz_min == 1260.0
    assert (seen.temperature_c_max, seen.memory_used_bytes_max) == (62.0, 883 * 2**20)
    assert seen.not_observed == ()


def test_what_lies_outside_of_the_window_is_idle() -> None:
    idle = Reading(0, clock_mhz=100.0, power_w=50.0)
    busy = Reading(0, clock_mhz=2000.0, power_w=700.0)
    seen = summarise(_samples(idle, busy, busy, idle), [0], duration_s=2.5)
    assert (seen.clock_mhz_mean, seen.energy_j) == (2000.0, 1750.0)


def test_one_second_means_once_they_have_forgotten_what_was_before() -> None:
    # a load in bursts: moments hit 700 or 100 by chance, their mean is 400
    means_w = (50.0, 225.0, 400.0, 400.0, 400.0, 400.0, 50.0)
    readings = [Reading(0, power_w=700.0, power_last_second_w=mean) for mean in means_w]
    assert summarise(_samples(*readings, step_s=0.5), [0], 2.5).power_w_mean == 400.0
    short = [readings[0], readings[1], readings[2], readings[6]]
    assert summarise(_samples(*short, step_s=0.5), [0], 1.0).power_w_mean == 700.0


def test_a_window_between_two_looks() -> None:
    samples = _samples(
        Reading(0, power_w=50.0, energy_j=100.0, throttled=3.0),
        Reading(0, power_w=50.0, energy_j=400.0, throttled=4.0),
    )
    seen = summarise(samples, [0], duration_s=0.5)
    # the counter knows better than two looks at an idle device
    assert (seen.energy_j, seen.num_throttlings, seen.clock_mhz_mean) == (150.0, 1, None)
    assert [gap.what for gap in seen.not_observed] == ["clock_mhz_mean"]


@pytest.mark.parametrize(
    ("energies_j", "energy_j"),
    [
        # agrees roughly: the counter counts
        ((1000.0, 1080.0, 1160.0, 1240.0), 160.0),
        # ran over, stands still, is wrong by a factor: power counts
        ((1000.0, 1080.0, 20.0, 100.0), 200.0),
        ((7.0, 7.0, 7.0, 7.0), 200.0),
        ((0.0, 1500.0, 3000.0, 4500.0), 200.0),
        ((None, None, None, None), 200.0),
    ],
)
def test_counters_are_checked(energies_j: tuple[float | None, ...], energy_j: float) -> None:
    readings = [Reading(0, power_w=100.0, energy_j=energy) for energy in energies_j]
    assert summarise(_samples(*readings), [0], 2.0).energy_j == pytest.approx(energy_j)


@pytest.mark.parametrize(
    ("flags", "counters", "num"),
    [
        ((None, None, None, None), (None, None, None, None), None),
        ((False, False, False, False), (None, None, None, None), 0),
        ((False, True, False, True, True, False), (None,) * 6, 2),
        ((None, None, None, None), (5.0, 5.0, 6.0, 6.0), 1),
        ((None, None, None, None, None), (5.0, 6.0, 6.0, 7.0, 8.0), 2),
        # a flag outside of the window is not the window's
        ((True, False, False, True), (None, None, None, None), 0),
    ],
)
def test_throttlings(
    flags: tuple[bool | None, ...], counters: tuple[float | None, ...], num: int | None
) -> None:
    readings = [
        Reading(0, is_throttled=flag, throttled=counter)
        for flag, counter in zip(flags, counters, strict=True)
    ]
    assert summarise(_samples(*readings), [0], 2.0).num_throttlings == num


def test_all_devices_in_use_must_be_seen() -> None:
    powers_w = (100.0, 300.0, 9.0)
    both = Readings(tuple(Reading(index, power_w=power) for index, power in enumerate(powers_w)))
    samples = [Sample(0.0, both), Sample(1.0, both)]
    assert summarise(samples, [1, 0], 2.0).energy_j == 800.0
    gap = summarise(samples, [0, 7], 2.0)
    assert gap.energy_j is None
    assert gap.not_observed[0].reason == "no reading of devices [7]"
    failed = summarise([Sample(0.0, Readings(problem="x-smi hangs"))], [0], 2.0)
    assert failed.not_observed[0].reason == "x-smi hangs"
    assert set(failed.window_fields().values()) == {None}
