"""Control of false discoveries over a campaign: the level of every next test."""

import math

_OFFSET = 4.0
_SUM = 0.6628
"""Sum of the unnormalised weights over all tests, rounded up (checked by the tests)."""


def weight(number: int) -> float:
    """Return the share of the error that the test of a number gets; the sum over all is < 1.

    Decays a little faster than 1/n: the first tests of a campaign are about its largest effects.

    Args:
        number: 1 for the first test.
    """
    shifted = number + _OFFSET
    return 1.0 / (shifted * math.log(shifted) ** 2 * _SUM)


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
