"""Fronts of throughput against latency, and their area."""

from hypothesis import given
from hypothesis import strategies as st

from arbor.core.measure.pareto import hypervolume, pareto_front

POINTS = st.lists(st.tuples(st.floats(0.0, 1e4), st.floats(0.1, 2e3)), max_size=12)


def test_a_beaten_point_is_not_on_the_front() -> None:
    assert pareto_front([(10.0, 5.0), (9.0, 6.0), (20.0, 8.0)]) == ((10.0, 5.0), (20.0, 8.0))


def test_a_point_beyond_the_reference_adds_nothing() -> None:
    assert hypervolume([(10.0, 50.0), (99.0, 100.0)], 100.0) == 500.0
    assert hypervolume([], 100.0) == 0.0


@given(POINTS, st.tuples(st.floats(0.0, 1e4), st.floats(0.1, 2e3)))
def test_a_further_point_never_makes_the_area_smaller(
    points: list[tuple[float, float]], more: tuple[float, float]
) -> None:
    before = hypervolume(points, 1000.0)
    assert hypervolume([*points, more], 1000.0) >= before * (1.0 - 1e-12)


@given(POINTS)
def test_only_the_front_counts(points: list[tuple[float, float]]) -> None:
    assert hypervolume(pareto_front(points), 1000.0) == hypervolume(points, 1000.0)
