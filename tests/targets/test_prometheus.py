"""Counters of a metrics page: by name, over labels, with what is missing told apart from zero."""

from hypothesis import given
from hypothesis import strategies as st

from arbor.targets.prometheus import FINISHED, growth, mean_ms, read_counters, whole

PAGE = """# HELP vllm:request_success_total Count of successfully processed requests.
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 2.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 5.0
vllm:request_success_total{engine="1",finished_reason="length",model_name="m"} 1.0
vllm:request_success_total{engine="0",finished_reason="abort",model_name="m"} 4.0
vllm:request_success_created{engine="0",finished_reason="stop",model_name="m"} 1.7e+09
vllm:num_requests_running{engine="0"} 3.0
vllm:e2e_request_latency_seconds_sum{engine="0"} 1.5
vllm:e2e_request_latency_seconds_count{engine="0"} 3.0
vllm:e2e_request_latency_seconds_bucket{engine="0",le="0.3"} 1.0
vllm:odd_total NaN
garbage {
"""


def test_counters_by_name() -> None:
    found = read_counters(PAGE)
    assert found["vllm:request_success_total"] == 12.0
    assert found['vllm:request_success_total{finished_reason="length"}'] == 6.0
    assert whole(found, *FINISHED) == 8
    assert set(found) == {
        "vllm:request_success_total",
        'vllm:request_success_total{finished_reason="stop"}',
        'vllm:request_success_total{finished_reason="length"}',
        'vllm:request_success_total{finished_reason="abort"}',
        "vllm:e2e_request_latency_seconds_sum",
        "vllm:e2e_request_latency_seconds_count",
    }


def test_growth_of_old_new_and_reset_counters() -> None:
    before, after = {"old": 2.0, "reset": 9.0}, {"old": 5.0, "reset": 1.0, "new": 4.0}
    assert growth(before, after) == {"old": 3.0, "reset": 1.0, "new": 4.0}


def test_what_is_missing_is_not_zero() -> None:
    assert whole({}, *FINISHED) is None
    assert mean_ms({}, "x") is None
    assert mean_ms({"x_sum": 1.0, "x_count": 0.0}, "x") is None
    assert mean_ms({"x_sum": 1.0, "x_count": 4.0}, "x") == 250.0


@given(st.text(max_size=80))
def test_any_page_is_read(page: str) -> None:
    read_counters(page)
