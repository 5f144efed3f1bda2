"""Clocks: virtual time moves only when told to, system time never runs backwards."""

from datetime import UTC, timedelta

from arbor.core.clock import SystemClock, VirtualClock


def test_virtual_time_moves_by_sleeping_alone() -> None:
    clock = VirtualClock()
    begun = clock.now()
    assert clock.now() == begun
    clock.sleep(1.5)
    assert clock.now() - begun == timedelta(seconds=1.5)
    clock.sleep(-3.0)
    assert clock.now() - begun == timedelta(seconds=1.5)


def test_virtual_clocks_start_alike() -> None:
    assert VirtualClock().now() == VirtualClock().now()


def test_system_time_is_utc_and_never_runs_backwards() -> None:
    clock = SystemClock()
    moments = [clock.now() for _ in range(100)]
    assert moments == sorted(moments)
    assert moments[0].tzinfo is UTC
    clock.sleep(-1.0)
    assert clock.now() >= moments[-1]
