"""Times come with their evidence; what cannot be is refused."""

from importlib import import_module

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

from arbor.kernels.base import Work
from arbor.kernels.harness.examining import examine
from arbor.kernels.harness.percentile import median, percentiles
from arbor.kernels.harness.roofline import Peak
from arbor.kernels.harness.timing import TimingSettings, impossible, measure
from arbor.kernels.harness.watching import Tripwire
from tests.kernels.cheats import honest
from tests.kernels.problems import small_problem

SMALL_CACHE = TimingSettings(cache_bytes=20_000, num_passes=3)


def test_an_honest_time_is_believed() -> None:
    timing = measure(honest.candidate, small_problem(), SMALL_CACHE, Tripwire())
    assert timing.refusals == ()
    assert 0 < timing.p20_us <= timing.median_us <= timing.p80_us
    assert timing.rotated_bytes >= 3 * SMALL_CACHE.cache_bytes
    assert timing.num_buffers > 1
    assert timing.method == "wall"
    assert timing.error.whole > 0


def test_idling_when_timed_is_refused() -> None:
    cheat = import_module("tests.kernels.cheats.idle_when_timed")
    seeds = range(cheat.NUM_EXAMINED)
    assert examine(cheat.candidate, small_problem(), seeds, Tripwire()).is_accepted
    timing = measure(cheat.candidate, small_problem(), SMALL_CACHE, Tripwire())
    assert [refusal.rule for refusal in timing.refusals] == [cheat.RULE]


def test_inputs_that_stay_in_the_cache_are_refused() -> None:
    settings = TimingSettings(cache_bytes=1 << 20, memory_bytes=10_000, num_passes=2)
    timing = measure(honest.candidate, small_problem(), settings, Tripwire())
    assert [refusal.rule for refusal in timing.refusals] == ["cache_resident"]


def test_calls_too_small_to_leave_the_cache_say_so() -> None:
    settings = TimingSettings(cache_bytes=1 << 20, num_passes=2)
    timing = measure(honest.candidate, small_problem(1, 1), settings, Tripwire())
    assert timing.refusals == ()
    assert timing.num_buffers == 2048
    assert timing.method == "wall, in cache"


def test_a_time_below_the_roofline_is_refused() -> None:
    peak = Peak(1e9, {"bf16": 1e12})
    memory_bound, compute_bound = Work(1_000_000, 10), Work(1000, 10**10, "bf16")
    assert peak.least_us(memory_bound) == pytest.approx(1000.0)
    assert peak.least_us(compute_bound) == pytest.approx(10_000.0)
    assert peak.ratio(memory_bound, 2000.0) == pytest.approx(0.5)
    assert impossible(990.0, memory_bound, peak) == []
    assert impossible(900.0, memory_bound, peak)[0].rule == "faster_than_hardware"
    assert impossible(1.0, memory_bound, None) == []


@pytest.mark.parametrize(
    ("bytes_per_call", "expected"), [(1000, 301), (10, 2048), (1_000_000, 10), (10**9, 1)]
)
def test_buffers_outgrow_the_cache_within_memory(bytes_per_call: int, expected: int) -> None:
    settings = TimingSettings(cache_bytes=100_000, memory_bytes=10_000_000)
    large = TimingSettings(cache_bytes=10**9, memory_bytes=10_000_000)
    chosen = settings if bytes_per_call < 10**6 else large
    assert chosen.num_buffers(bytes_per_call) == expected


def test_percentiles_interpolate() -> None:
    assert percentiles([4.0, 1.0, 3.0, 2.0, 5.0], (0.0, 0.5, 0.9)) == pytest.approx((1, 3, 4.6))
    assert median([7.0]) == 7.0
