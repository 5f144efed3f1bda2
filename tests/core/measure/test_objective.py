"""What windows are worth: throughput, latencies, service levels, whole sweeps."""

import pytest

from arbor.core.measure.objective import MIN_VALUE, objective_value, require_workloads
from arbor.events.errors import InvalidInputError
from arbor.events.types import Guard, Load, Objective, Slo
from tests.fakes.stage import window


def test_throughput_is_the_default() -> None:
    assert objective_value([window(120.0)], Objective()) == 120.0


def test_tokens_per_device_are_over_all_devices() -> None:
    objective = Objective(metric="throughput_tok_s_per_device")
    assert objective_value([window(120.0)], objective, num_devices=8) == 15.0
    assert objective_value([window(120.0)], objective, num_devices=0) == 120.0


def test_requests_count_per_second() -> None:
    objective = Objective(metric="request_throughput_req_s")
    assert objective_value([window(1.0, num_completed=8, duration_s=2.0)], objective) == 4.0


def test_a_latency_is_better_when_it_is_smaller() -> None:
    objective = Objective(metric="ttft_ms_p99")
    fast, slow = (
        objective_value([window(1.0, ttft_ms_p99=ms)], objective) for ms in (50.0, 100.0)
    )
    assert fast == pytest.approx(2 * slow)


def test_a_missed_service_level_divides_by_the_excess() -> None:
    objective = Objective(slos=(Slo(metric="tpot_ms_p99", max_ms=50.0),))
    met = objective_value([window(100.0, tpot_ms_p99=50.0)], objective)
    missed = objective_value([window(100.0, tpot_ms_p99=100.0)], objective)
    assert (met, missed) == (100.0, 50.0)


def test_a_sweep_is_worth_the_area_that_it_dominates() -> None:
    objective = Objective(metric="hypervolume", sweep=(1, 8), max_latency_ms=100.0)
    windows = [window(10.0, tpot_ms_p50=20.0), window(30.0, tpot_ms_p50=60.0)]
    assert objective_value(windows, objective) == 10.0 * 80.0 + 20.0 * 40.0


def test_windows_of_equal_work_count_by_their_geometric_mean() -> None:
    values = [window(100.0), window(400.0)]
    assert objective_value(values, Objective()) == pytest.approx(200.0)
    slos = (Slo(metric="tpot_ms_p99", max_ms=50.0),)
    mixed = [window(100.0, tpot_ms_p99=100.0), window(200.0, tpot_ms_p99=25.0)]
    assert objective_value(mixed, Objective(slos=slos)) == pytest.approx(100.0)


def test_a_window_without_tokens_has_a_logarithm() -> None:
    assert (
        objective_value([window(1.0).model_copy(update={"throughput_tok_s": 0.0})], Objective())
        == MIN_VALUE
    )


def test_what_is_not_measured_is_said_with_the_fix() -> None:
    objective = Objective(slos=(Slo(metric="itl_ms_p99", max_ms=5.0),))
    with pytest.raises(InvalidInputError, match=r"itl_ms_p99.*choose another metric"):
        objective_value([window(1.0)], objective)


def test_a_hypervolume_needs_a_sweep() -> None:
    with pytest.raises(ValueError, match="sweep"):
        Objective(metric="hypervolume")


def test_a_guard_of_an_unknown_workload_is_refused_with_those_that_exist() -> None:
    guards = (Guard(name="long", load=Load(workload="lnog")),)
    with pytest.raises(InvalidInputError, match="'lnog'; the target has: long, short"):
        require_workloads(guards, ["long", "short"])
    require_workloads((Guard(name="alone", load=Load(concurrency=1)),), [])
