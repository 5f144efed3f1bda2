"""Control of false discoveries over a campaign: the level of every next test."""

import math

_OFFSET = 4.0
_EARLY_SUM = 0.6628
"""Sum of the unnormalised early weights over all tests, rounded up (checked by the tests)."""
_SPAN = 40.0
"""Tests of a campaign of some length; the late weights fall to a quarter after so many."""


def weight(number: int) -> float:
    """Return the share of the error that the test of a number gets; the sum over all is < 1.

    Half of the error goes to the first tests, which are about a campaign's largest effects; the
    other half is spread over as many tests as a campaign usually makes.

    Args:
        number: 1 for the first test.
    """
    shifted = number + _OFFSET
    early = 1.0 / (shifted * math.log(shifted) ** 2 * _EARLY_SUM)
    # The sum over all n of (1 + n / span)^-2 is below its integral from 0, which is the span.
    late = (1.0 + number / _SPAN) ** -2 / _SPAN
    return (early + late) / 2.0


def next_level(number: int, num_discoveries: int, false_discovery_ratio: float) -> float:
    """Return the level of the next test.

    e-LOND: every discovery earns error for later tests. Intervals here invert test martingales,
    so the bound on the expected share of false discoveries holds under any dependence between
    tests, at any stopping times (Xu and Ramdas, "Online multiple testing with e-values", 2024).

    Args:
        number: 1 for the first test of the campaign.
        num_discoveries: tests before it that were accepted.
        false_discovery_ratio: bound for the expected share of false ones among the accepted.
    """
    return false_discovery_ratio * weight(number) * (num_discoveries + 1)
