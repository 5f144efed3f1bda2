"""What a stack must stand before it is called good."""

from arbor.core.measure.soak import soak_summary, soak_violation
from arbor.events.evidence import SoakMeasured
from tests.fakes.stage import window

MIB = 1 << 20


def _soak(
    speeds: list[float], sizes: list[int] | None = None, num_failed: int = 0
) -> SoakMeasured:
    windows = [window(speed) for speed in speeds]
    windows[-1] = window(speeds[-1], num_failed=num_failed)
    return SoakMeasured(
        request_id="r1",
        node_id="n1",
        commit="c",
        windows=tuple(windows),
        concurrency=48,
        server_rss_bytes=tuple(sizes or ()),
    )


def test_a_steady_stack_stands() -> None:
    soak = _soak([100.0, 98.0, 101.0, 97.0, 99.0, 100.0], [900 * MIB] * 6)
    assert soak_violation(soak) is None
    assert "concurrency 48" in soak_summary(soak)


def test_failed_requests_are_no_standing() -> None:
    assert "2 requests failed" in (soak_violation(_soak([100.0] * 3, num_failed=2)) or "")


def test_a_stack_that_slows_down_does_not_stand() -> None:
    slowing = soak_violation(_soak([100.0, 100.0, 90.0, 80.0, 70.0, 70.0]))
    assert "fell to 70%" in (slowing or "")


def test_growing_memory_does_not_stand() -> None:
    growing = soak_violation(_soak([100.0] * 3, [900 * MIB, 1100 * MIB, 1300 * MIB]))
    assert "memory grew from 900 to 1300 MiB" in (growing or "")
    small = _soak([100.0] * 3, [50 * MIB, 60 * MIB, 80 * MIB])
    assert soak_violation(small) is None, "caches fill; too little to be a leak"
