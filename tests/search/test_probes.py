"""Probes: known figures, and that chance is not taken for knowledge."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.search.probes import (
    collapse,
    entropy,
    normalised_mutual_information,
    rate,
    size_shift,
    slope,
)

SIZES = [2**n for n in range(10)] * 3


def test_a_rate_has_wilsons_interval() -> None:
    found = rate(8, 10)
    assert (found.value, found.low, found.high) == pytest.approx((0.8, 0.490, 0.943), abs=1e-3)
    assert str(found) == "0.80 [0.49, 0.94]"
    assert rate(0, 0).high - rate(0, 0).low == 1.0
    with pytest.raises(ValueError, match="3 hits of 2"):
        rate(3, 2)


def test_a_collapsed_prior_shares_nothing_with_the_sizes() -> None:
    found = collapse(SIZES, ["BLOCK=1024"] * 30)
    assert (found.nmi, found.above_chance, found.p_value) == (0.0, 0.0, 1.0)


def test_answers_that_follow_the_sizes_share_everything() -> None:
    found = collapse(SIZES, [f"BLOCK={size}" for size in SIZES])
    assert found.nmi == pytest.approx(1.0)
    assert found.above_chance == pytest.approx(1.0)
    assert found.p_value < 0.01


def test_chance_is_told_apart_from_knowledge() -> None:
    """With three samples a size, random answers share much with the sizes, for nothing."""
    source = random.Random(1)
    found = collapse(SIZES, [source.choice("abcdefgh") for _ in SIZES])
    assert found.nmi > 0.4
    assert found.above_chance < 0.2
    assert found.p_value > 0.05


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30))
def test_it_is_symmetric_and_a_share(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = normalised_mutual_information(first, second)
    assert 0.0 <= found <= 1.0
    assert found == pytest.approx(normalised_mutual_information(second, first))


def test_entropy_is_in_nats() -> None:
    assert entropy(["a", "b"]) == pytest.approx(0.6931, abs=1e-4)
    assert entropy([]) == entropy(["a"]) == 0.0


def test_unpaired_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be paired"):
        normalised_mutual_information([1], [1, 2])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.0, 3.0], 1.0),
        ([3.0, 1.0, 2.0], 0.0),
        ([None, 2.0, None, 4.0], 0.6),
        ([None, None], 0.0),
        ([5.0], 0.0),
        ([], 0.0),
    ],
)
def test_the_slope_is_that_of_the_best_so_far(values: list[float | None], expected: float) -> None:
    assert slope(values) == pytest.approx(expected)


def test_the_shift_is_the_distance_to_the_nearest_common_size() -> None:
    assert size_shift([1024, 2048], [1024]) == pytest.approx(0.5)
    assert size_shift([16], [1024, 128]) == pytest.approx(3.0)
    with pytest.raises(ValueError, match="above 0"):
        size_shift([], [1024])
