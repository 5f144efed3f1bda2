"""Verdicts are joined: a violation first, then anything observed, then what lacks."""

from arbor.core.guardrails.base import HOLDS, broken, first, not_observed


def test_the_first_violation_wins_and_says_where() -> None:
    verdicts = [("a: ", HOLDS), ("b: ", broken("bad")), ("c: ", broken("worse"))]
    assert first(verdicts) == broken("b: bad")


def test_one_observation_is_enough_to_hold() -> None:
    assert first([("a", not_observed("x")), ("b", HOLDS)]) == HOLDS


def test_nothing_observed_tells_what_lacks() -> None:
    assert first([("a", not_observed("x"))]) == not_observed("x")
    assert first([]) == not_observed("a valid pair")
