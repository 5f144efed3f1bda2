"""What is accepted of an adviser."""

import pytest

from arbor.search.advice import AdviceError, Question, one_point
from arbor.search.advisers import ScriptedAdviser
from arbor.search.space import Point
from tests.contracts.search_engine import FIRST, RULED, WHOLE


def test_one_point_of_the_space_is_accepted() -> None:
    adviser = ScriptedAdviser("good", lambda _: [FIRST[0]])
    assert one_point(adviser, Question(WHOLE, ())) == FIRST[0]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], "adviser bad gave 0 points; 1 was asked for"),
        (list(FIRST), "gave 2 points"),
        ([FIRST[0][:2]], "adviser bad: point has keys"),
    ],
)
def test_anything_else_is_an_error(points: list[Point], message: str) -> None:
    with pytest.raises(AdviceError, match=message):
        one_point(ScriptedAdviser("bad", lambda _: points), Question(WHOLE, ()))


def test_a_broken_rule_is_named() -> None:
    point = RULED.point({"m": 256, "n": 256, "mode": "plain"})
    with pytest.raises(AdviceError, match="broke a rule: the product of m, n is 65536"):
        one_point(ScriptedAdviser("bad", lambda _: [point]), Question(RULED, ()))
