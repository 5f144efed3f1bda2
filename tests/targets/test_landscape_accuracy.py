"""A landscape's check has the figures of a real one, and refuses what costs too much."""

import pytest

from arbor.core.accuracy import Gate, violations
from arbor.events.settings import GateSettings
from arbor.targets.landscape_accuracy import landscape_accuracy

LOOSE = Gate(GateSettings(), claims_exact=False)


@pytest.mark.parametrize("kl", [0.0, 0.001, 0.0016, 0.003, 0.05, 0.5, 50.0])
def test_the_mean_divergence_is_as_declared(kl: float) -> None:
    sample = landscape_accuracy(kl)
    assert sample.kl_mean == pytest.approx(kl)
    assert sample.num_tokens == 2 * 4096 + 16 * 1024


@pytest.mark.parametrize(
    ("kl", "is_accepted"), [(0.0, True), (0.0016, True), (0.003, True), (0.05, False)]
)
def test_the_gate_decides_by_the_divergence(kl: float, is_accepted: bool) -> None:
    assert (violations(landscape_accuracy(kl), LOOSE) == ()) == is_accepted


def test_no_divergence_is_no_distance() -> None:
    sample = landscape_accuracy(0.0)
    assert sample.top1_agreement_ratio == sample.greedy_match_ratio == 1.0
    assert sample.task is not None
    assert sample.task.score == sample.task.baseline_score
    assert violations(sample, Gate(GateSettings(), claims_exact=True)) == ()
