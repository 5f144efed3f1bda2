"""How far a result is from the oracle: relative norms, of the whole and of the worst row."""

from dataclasses import dataclass

import torch

ROW_FACTOR = 4.0
"""A single row may be this many times worse than the bound of the whole."""
_TIE_SLACK = 2.0**-10
"""Float32 arithmetic can move a value across the middle of two steps by this part of a step."""


@dataclass(frozen=True, slots=True)
class RelativeError:
    """Distance from the oracle.

    Attributes:
        whole: ``||out - ref|| / ||ref||`` over all elements; infinite with NaN or infinity.
        worst_row: the largest such ratio of a row, its norm taken as at least the mean row's.
    """

    whole: float
    worst_row: float

    def exceeds(self, tolerance: float) -> bool:
        """Return whether the error is more than an honest kernel has."""
        return not (self.whole <= tolerance and self.worst_row <= ROW_FACTOR * tolerance)


def relative_error(out: torch.Tensor, expected: torch.Tensor) -> RelativeError:
    """Return the distance of a result from the oracle.

    Elements that are not finite must be the same ones in both, and count as exact then. So does
    what lies within half of the smallest step of the result's format: fp16 has no more digits for
    probabilities over a large vocabulary, and the right result rounded differs by as much.

    Args:
        out: result, of any floating dtype or of whole numbers.
        expected: float64, of the same shape.
    """
    if out.shape != expected.shape:
        return RelativeError(float("inf"), float("inf"))
    wide = out.double()
    difference = wide - expected
    is_exact = (wide == expected) | (wide.isnan() & expected.isnan())
    is_exact |= difference.abs() <= _half_step(out.dtype)
    difference = torch.where(is_exact, 0.0, difference)
    reference = torch.where(expected.isfinite(), expected, 0.0)
    difference, reference = _as_rows(difference), _as_rows(reference)
    row_errors, row_norms = difference.norm(dim=1), reference.norm(dim=1)
    norm = float(row_norms.norm())
    # a reference of zeros has no scale of its own
    scale = norm or 1.0
    floor = scale / max(len(row_norms), 1) ** 0.5
    whole = float(row_errors.norm()) / scale
    worst = float((row_errors / row_norms.clamp(min=floor)).max()) if len(row_errors) else 0.0
    return RelativeError(_or_infinite(whole), _or_infinite(worst))


def _half_step(dtype: torch.dtype) -> float:
    """Return half of the distance between the smallest numbers of a format; 0 of whole numbers."""
    if not dtype.is_floating_point:
        return 0.0
    limits = torch.finfo(dtype)
    return limits.tiny * limits.eps / 2 * (1 + _TIE_SLACK)


def _as_rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() else tensor.reshape(1, 1)


def _or_infinite(value: float) -> float:
    return float("inf") if value != value else value  # noqa: PLR0124 - NaN is not itself
