"""The thread that looks at the sensors: begins, ends, and gives up on a tool that fails."""

import threading
from pathlib import Path

import pytest

from arbor.events.types import WindowSample
from arbor.targets.hardware.processor_reading import ProcessorReader
from arbor.targets.hardware.reading import Reading, Readings
from arbor.targets.hardware.telemetry import Telemetry, reader_of
from tests.fakes.vendor_tools import VendorTools


class Sensors:
    """A device that counts the looks at it and says when enough have been made."""

    def __init__(self, enough: int, problem: str = "") -> None:
        self.num_looks = 0
        self.has_enough = threading.Event()
        self._enough = enough
        self._problem = problem

    def __call__(self) -> Readings:
        self.num_looks += 1
        if self.num_looks >= self._enough:
            self.has_enough.set()
        if self._problem:
            return Readings(problem=self._problem)
        energy_j = 100.0 * self.num_looks
        return Readings((Reading(0, clock_mhz=1500.0, energy_j=energy_j, is_throttled=False),))


def test_a_window_is_sampled() -> None:
    sensors = Sensors(enough=4)
    with Telemetry(sensors, [0], interval_s=0.001) as telemetry:
        assert sensors.has_enough.wait(30)
    seen = telemetry.result()
    # one look before and one after
    assert seen.num_samples == sensors.num_looks - 2
    assert (seen.clock_mhz_mean, seen.num_throttlings) == (1500.0, 0)
    assert seen.energy_j is not None
    assert seen.energy_j > 0
    assert set(seen.window_fields()) <= set(WindowSample.model_fields)
    assert "telemetry" not in {thread.name for thread in threading.enumerate()}


def test_three_failures_are_enough() -> None:
    sensors = Sensors(enough=3, problem="x-smi did not answer")
    with Telemetry(sensors, [0], interval_s=0.001) as telemetry:
        assert sensors.has_enough.wait(30)
        telemetry._thread.join(30)
    assert sensors.num_looks == 3
    assert telemetry.result().not_observed[0].reason == "x-smi did not answer"


def test_a_window_that_fails_ends_the_thread() -> None:
    sensors = Sensors(enough=1)
    message = "the window failed"
    with pytest.raises(ValueError, match=message), Telemetry(sensors, [0]):
        raise ValueError(message)
    assert "telemetry" not in {thread.name for thread in threading.enumerate()}


def test_tools_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for kind in ("amd", "nvidia"):
        with Telemetry(reader_of(kind), [0]) as telemetry:
            pass
        [gap] = telemetry.result().not_observed
        assert "is not installed" in gap.reason


def test_the_processors_sensors(tmp_path: Path) -> None:
    for core, khz in enumerate((2_000_000, 3_000_000)):
        folder = tmp_path / f"devices/system/cpu/cpu{core}"
        for name, text in (
            ("cpufreq/scaling_cur_freq", f"{khz}\n"),
            ("thermal_throttle/core_throttle_count", "3\n"),
        ):
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text(text)
    [reading] = ProcessorReader(tmp_path)().devices
    assert (reading.clock_mhz, reading.clock_mhz_min, reading.throttled) == (2500.0, 2000.0, 6.0)
    assert reading.energy_j is None
    assert isinstance(reader_of("cpu"), ProcessorReader)


def test_a_tool_under_the_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    data = Path(__file__).with_name("data") / "amd_smi_metric.json"
    VendorTools(tmp_path).answers("amd-smi", {"metric": data})
    with Telemetry(reader_of("amd"), [0, 1], interval_s=0.001) as telemetry:
        pass
    seen = telemetry.result()
    assert seen.memory_used_bytes_max == 2 * 180000 * 2**20
    assert seen.temperature_c_max == 71.0
