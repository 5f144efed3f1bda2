"""Errors are relative norms; NaN is never right by accident."""

import math

import pytest

torch = pytest.importorskip("torch", reason="the kernels extra is not installed")

from arbor.kernels.harness.relative_error import ROW_FACTOR, relative_error


def test_the_whole_and_the_worst_row() -> None:
    expected = torch.ones(4, 100, dtype=torch.float64)
    out = expected.clone()
    out[1] *= 1.1
    error = relative_error(out, expected)
    assert error.whole == pytest.approx(0.05)
    assert error.worst_row == pytest.approx(0.1)
    assert not error.exceeds(0.05001)
    assert error.exceeds(0.1 / ROW_FACTOR)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_wrong(value: float) -> None:
    expected = torch.ones(2, 3, dtype=torch.float64)
    out = expected.clone()
    out[0, 0] = value
    assert relative_error(out, expected).exceeds(1e6)
    assert relative_error(out, out).whole == 0.0


def test_another_shape_is_wrong() -> None:
    assert relative_error(torch.ones(2), torch.ones(3)).exceeds(1e6)


def test_zeros_have_no_scale_of_their_own() -> None:
    zeros = torch.zeros(3, dtype=torch.float64)
    assert relative_error(zeros, zeros).whole == 0.0
    assert relative_error(zeros + 1, zeros).exceeds(0.1)


def test_half_of_the_smallest_step_of_the_format_is_no_error() -> None:
    step = 2.0**-24
    expected = torch.tensor([[6.3, 0.49, 1.0]], dtype=torch.float64) * step
    rounded = expected.half()
    assert relative_error(rounded, expected).whole == 0.0
    off_by_one = rounded + torch.tensor([[step, 0.0, 0.0]], dtype=torch.float16)
    assert relative_error(off_by_one, expected).exceeds(1e-2)
    zeros = torch.zeros_like(rounded)
    assert relative_error(zeros, expected).exceeds(0.5)
    assert relative_error(expected.float() * 1.01, expected).whole == pytest.approx(0.01, rel=1e-3)


def test_whole_numbers_are_compared_as_they_are() -> None:
    indices = torch.tensor([[3, 0, 7]])
    assert relative_error(indices, indices.clone()).whole == 0.0
    assert relative_error(indices + 1, indices).exceeds(0.1)
