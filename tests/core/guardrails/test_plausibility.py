"""Rules on the size of a gain; constructed, since no honest stack breaks Amdahl's law."""

from dataclasses import replace

import pytest

from arbor.core.guardrails.plausibility import AmdahlBound, StatedSpeedup
from tests.fakes.evidence import evidence_of


@pytest.mark.parametrize(
    ("ratio", "share", "is_broken"),
    [
        (1.6, 0.2, True),
        (1.3, 0.0, True),
        (1.4, 0.2, False),
        (50.0, 0.99, False),
        (1.9, 0.5, False),
    ],
)
def test_the_bound_of_a_share(ratio: float, share: float, is_broken: bool) -> None:
    verdict = AmdahlBound().judge(evidence_of(ratio=ratio, share=share))
    assert (verdict.violation is not None) == is_broken
    assert verdict.missing is None


def test_more_than_stated() -> None:
    """1.5x on 60 % of the time make 1.25x."""
    verdict = StatedSpeedup().judge(evidence_of(ratio=1.6, share=0.6))
    assert "1.50x on 60% of the time explain 1.44x" in str(verdict.violation)
    assert StatedSpeedup().judge(evidence_of(ratio=1.4, share=0.6)).violation is None


@pytest.mark.parametrize("rule", [AmdahlBound(), StatedSpeedup()])
def test_both_need_a_template_and_a_profile(rule: AmdahlBound | StatedSpeedup) -> None:
    evidence = evidence_of(ratio=3.0, share=0.1)
    assert rule.judge(replace(evidence, template=None)).missing
    assert rule.judge(replace(evidence, profile=None)).missing
