"""Small spaces are listed, large and continuous ones are not."""

from arbor.events.types import Parameter, Requirement
from arbor.search.grid import every_point
from arbor.search.space import AtMost, Space

COLOURS = Parameter(key="a.colour", kind="categorical", choices=("red", "blue"))
SIZES = Parameter(key="a.size", kind="categorical", choices=(1, 2, 3))
LENGTH = Parameter(key="a.length", kind="float", low=0.0, high=1.0)


def test_all_points_are_there_once() -> None:
    points = every_point((COLOURS, SIZES), limit=6)
    assert len(set(points)) == 6
    assert [edit.key for edit in points[0]] == ["a.colour", "a.size"]


def test_more_than_the_limit_or_a_number_gives_none() -> None:
    assert every_point((COLOURS, SIZES), limit=5) == ()
    assert every_point((COLOURS, LENGTH), limit=100) == ()


def test_rules_and_conditions_leave_out_what_they_exclude() -> None:
    red = (Requirement(key="a.colour", any_of=("red",)),)
    space = Space((COLOURS, SIZES.model_copy(update={"when": red})), (AtMost(("a.size",), 2),))
    points = every_point(space, limit=6)
    found = [[edit.value for edit in point] for point in points]
    assert found == [["red", 1], ["red", 2], ["blue"]]
