"""Rules on the series; constructed pairs, each with a clean twin.

``within_noise`` and ``ratio_trend`` have no recorded case: the first needs luck, the second an arm
that changes while it is measured, which no server here does.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from scipy.stats import linregress

from arbor.core.guardrails import Evidence
from arbor.core.guardrails.series import (
    MoreThanNoise,
    SteadyIncumbent,
    SteadyRatio,
    trend,
)
from tests.fakes.evidence import evidence_of, full_window, noise_of, pair_of

WOBBLE = (0.3, -0.5, 0.4, -0.2, 0.5, -0.4, 0.1, -0.2)
"""Noise of a series, in percent."""


@pytest.mark.parametrize(
    ("ratio", "noise_sd", "line"),
    [
        (1.03, 0.04, "identical arms differ by 4.7%"),
        (1.06, 0.04, None),
        # not claimed as a gain
        (0.97, 0.04, None),
    ],
)
def test_noise(ratio: float, noise_sd: float, line: str | None) -> None:
    evidence = replace(evidence_of(ratio=ratio), noise=noise_of(noise_sd))
    verdict = MoreThanNoise().judge(evidence)
    assert verdict.missing is None
    assert (verdict.violation is None) == (line is None)
    assert line is None or line in str(verdict.violation)


def test_a_gain_from_single_runs() -> None:
    clean = evidence_of()
    effect = clean.result.effect.model_copy(update={"num_pairs": 2})
    evidence = replace(clean, result=clean.result.model_copy(update={"effect": effect}))
    assert MoreThanNoise().judge(evidence).violation == "a gain from 2 pairs"


def test_without_a_calibration_noise_is_not_judged() -> None:
    assert MoreThanNoise().judge(replace(evidence_of(), noise=None)).missing


def _series(percents: Sequence[float], *, of_incumbent: bool = False) -> Evidence:
    """Pairs whose candidate, or both arms, are so many percent faster."""
    return evidence_of(
        *(
            pair_of(
                full_window(120.0 * (1 + percent / 100)),
                full_window(100.0 * (1 + percent / 100) if of_incumbent else 100.0),
                number=number,
            )
            for number, percent in enumerate(percents, start=1)
        )
    )


def test_a_ratio_that_wanders() -> None:
    falling = [wobble - 1.5 * index for index, wobble in enumerate(WOBBLE)]
    verdict = SteadyRatio().judge(_series(falling))
    assert str(verdict.violation).startswith("start 1: the ratio moved by -1")
    assert SteadyRatio().judge(_series(WOBBLE)).violation is None
    tiny = [wobble / 10 - 0.1 * index for index, wobble in enumerate(WOBBLE)]
    assert SteadyRatio().judge(_series(tiny)).violation is None
    assert SteadyRatio().judge(_series(falling[:5])).missing


def test_a_machine_that_wanders_leaves_the_ratio_alone() -> None:
    falling = [wobble - 1.5 * index for index, wobble in enumerate(WOBBLE)]
    evidence = _series(falling, of_incumbent=True)
    assert SteadyRatio().judge(evidence).violation is None
    verdict = SteadyIncumbent().judge(evidence)
    assert "the incumbent's throughput moved by -1" in str(verdict.violation)
    assert SteadyIncumbent().judge(_series(WOBBLE, of_incumbent=True)).violation is None


def test_starts_are_judged_apart() -> None:
    """Two starts at different levels are no trend."""
    pairs = [
        pair_of(full_window(120.0 * level), number=number, start=start)
        for start, level in ((1, 1.0), (2, 1.08))
        for number in range(1, 7)
    ]
    assert SteadyRatio().judge(evidence_of(*pairs)).violation is None


def test_the_trend_is_that_of_a_straight_line() -> None:
    stream = random.Random(4)
    for num in (3, 6, 12):
        values = [0.02 * index + stream.gauss(0.0, 0.05) for index in range(num)]
        line = linregress(range(num), values)
        change, chance = trend(values)
        assert change == pytest.approx(line.slope * (num - 1))
        assert chance == pytest.approx(line.pvalue)


def test_exact_lines() -> None:
    assert trend([1.0, 1.0, 1.0]) == (0.0, 1.0)
    change, chance = trend([0.0, 1.0, 2.0, 3.0])
    assert change == pytest.approx(3.0)
    assert chance < 1e-6
