"""The sentry tells what ails the host, cleans what is Arbor's, and leaves the rest alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.actors.place import Place
from arbor.actors.sentry import LOOK_S, MAX_IDLE_DEVICE_BYTES, Sentry
from arbor.core.state import CampaignState
from arbor.events.life import HealthReported
from arbor.targets.hardware.reading import Reading, Readings
from arbor.targets.leftovers import MARK, leftovers
from tests.fakes.processes import all_gone, wait_until
from tests.fakes.simulation import Simulation

LIMIT_S = 30.0
LISTENER = (
    "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen();"
    " print(s.getsockname()[1], flush=True); time.sleep(600)"
)


class Clocks:
    """Two clocks that a test moves."""

    def __init__(self) -> None:
        self.monotonic_s = 0.0
        self.wall_s = 1000.0

    def monotonic(self) -> float:
        """Return the seconds that never jump."""
        return self.monotonic_s

    def wall(self) -> float:
        """Return the clock of the day."""
        return self.wall_s

    def sleep(self, duration_s: float, jump_s: float = 0.0) -> None:
        """Let time pass, and the clock of the day jump."""
        self.monotonic_s += duration_s
        self.wall_s += duration_s + jump_s


class Devices:
    """Sensors of accelerators that a test sets.

    Attributes:
        used_bytes: memory in use, by device.
    """

    def __init__(self) -> None:
        self.used_bytes: dict[int, int | None] = {}

    def read(self) -> Readings:
        """Look at the sensors."""
        readings = (Reading(index=i, memory_used_bytes=b) for i, b in self.used_bytes.items())
        return Readings(tuple(readings))


class Watch:
    """A sentry at work, and the campaign's state as its reports make it."""

    def __init__(self, place: Place, min_disk_bytes: int = 1) -> None:
        self.clocks = Clocks()
        self.devices = Devices()
        self.state = CampaignState()
        self.sentry = Sentry(
            place,
            self.devices.read,
            min_disk_bytes=min_disk_bytes,
            monotonic=self.clocks.monotonic,
            wall=self.clocks.wall,
        )

    def look(self, jump_s: float = 0.0) -> Sequence[HealthReported]:
        """Look again when it is time."""
        self.clocks.sleep(LOOK_S, jump_s)
        reports = self.sentry.look(self.state)
        for report in reports:
            self.state.vitals.reports[report.condition, report.subject] = report
        return reports


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Simulation(tmp_path / "campaign").place


@contextmanager
def _server(directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a server that listens and that no guard watches; yield it and its port."""
    log = directory / "logs" / "s.log"
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENER],
        env=os.environ | {MARK: str(log)},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_a_healthy_host_is_no_news(place: Place) -> None:
    watch = Watch(place)
    assert [list(watch.look()) for _ in range(3)] == [[], [], []]


def test_it_looks_from_time_to_time(place: Place) -> None:
    watch = Watch(place, min_disk_bytes=1 << 60)
    assert watch.look()
    watch.state = CampaignState()
    watch.clocks.sleep(LOOK_S / 2)
    assert watch.sentry.look(watch.state) == ()


def test_a_full_disk_is_cleaned_and_told_once(place: Place) -> None:
    old = place.directory / "logs" / "s.log.1"
    old.parent.mkdir()
    old.touch()
    watch = Watch(place, min_disk_bytes=1 << 60)
    (report,) = watch.look()
    assert (report.condition, report.subject, report.is_healthy) == ("disk", "h", False)
    assert "GB of the disk are free" in report.detail
    assert report.cleaned == ("removed the older half of s.log",)
    assert not old.exists()
    assert watch.look() == ()
    watch.sentry.min_disk_bytes = 1
    (report,) = watch.look()
    assert (report.condition, report.is_healthy) == ("disk", True)


def test_a_leaked_server_is_ended_when_it_is_seen_again(place: Place, tmp_path: Path) -> None:
    watch = Watch(place)
    with _server(place.directory) as (mine, port), _server(tmp_path / "other") as (foreign, _):
        wait_until(lambda: [p.pid for p in leftovers(place.directory)] == [mine.pid], LIMIT_S)
        assert watch.look() == (), "its guard may come a moment later"
        assert mine.poll() is None
        leak, held = watch.look()
        assert leak.condition == "leaked_server"
        assert leak.cleaned == (f"ended process {mine.pid}",)
        assert (held.condition, held.detail) == ("port", f"leaked servers held the ports {port}")
        assert all_gone([mine.pid])
        assert foreign.poll() is None, "it is not of this campaign"
    assert {(r.condition, r.is_healthy) for r in watch.look()} == {
        ("leaked_server", True),
        ("port", True),
    }


def test_what_another_process_took_the_place_of_is_a_new_suspect(place: Place) -> None:
    watch = Watch(place)
    with _server(place.directory) as (first, _):
        assert watch.look() == ()
        first.send_signal(signal.SIGKILL)
        first.wait()
    with _server(place.directory) as (second, _):
        assert watch.look() == ()
        assert second.poll() is None


def test_memory_that_idle_devices_hold_is_told_and_left_alone(place: Place) -> None:
    watch = Watch(place)
    watch.devices.used_bytes = {0: MAX_IDLE_DEVICE_BYTES, 1: 40 << 30, 2: None}
    (report,) = watch.look()
    assert report.condition == "device_memory"
    assert "device 1: 40.0 GiB" in report.detail
    assert "device 0" not in report.detail
    assert report.cleaned == ()
    assert watch.look() == ()
    watch.devices.used_bytes = {1: 0}
    (report,) = watch.look()
    assert report.is_healthy


def test_devices_beside_the_seat_are_others(place: Place) -> None:
    watch = Watch(replace(place, devices=("node:3",)))
    watch.devices.used_bytes = {1: 40 << 30, 3: 0}
    assert watch.look() == ()


def test_devices_of_a_running_server_are_not_idle(place: Place) -> None:
    watch = Watch(place)
    watch.devices.used_bytes = {0: 40 << 30}
    with _server(place.directory):
        assert watch.look() == ()


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
def test_a_clock_that_jumps_is_told(place: Place, jump_s: float) -> None:
    watch = Watch(place)
    assert watch.look() == ()
    (report,) = watch.look(jump_s)
    assert (report.condition, report.is_healthy) == ("clock", False)
    assert f"{jump_s:+.0f} s" in report.detail
    (report,) = watch.look()
    assert report.is_healthy
