"""Pairs of exact arms have equal digests; what gave no digest says nothing."""

from arbor.core.exactness import check_greedy_outputs
from arbor.events.evidence import PairMeasured
from tests.fakes.stage import window


def pair(number: int, candidate: str, incumbent: str) -> PairMeasured:
    return PairMeasured(
        request_id="r1",
        node_id="n001",
        commit="c",
        pair=number,
        start=1,
        is_candidate_first=True,
        candidate=window(1.0, output_digest=candidate),
        incumbent=window(1.0, output_digest=incumbent),
        log_ratio=0.0,
    )


def test_equal_tokens_are_fine() -> None:
    assert check_greedy_outputs([pair(1, "x", "x"), pair(2, "y", "y")]) == ()
    assert check_greedy_outputs([]) == ()


def test_the_first_pair_that_differs_is_told() -> None:
    (finding,) = check_greedy_outputs([pair(1, "x", "x"), pair(2, "x", "y"), pair(3, "y", "x")])
    assert finding.severity == "invalid"
    assert finding.evidence.startswith("greedy tokens differ in 2 of 3 pairs (first in pair 2)")


def test_windows_without_digests_say_nothing() -> None:
    assert check_greedy_outputs([pair(1, "", "x"), pair(2, "x", ""), pair(3, "", "")]) == ()
