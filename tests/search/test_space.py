"""Spaces: what exists, what is allowed, and how values lie on the unit interval."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.events.errors import InvalidInputError
from arbor.events.types import Edit, Parameter, Requirement, Scalar
from arbor.search.space import AtMost, Custom, Ordered, Space, unit_of, value_at, values_of

SPACE = Space(
    (
        Parameter(key="n", kind="int", low=1, high=8),
        Parameter(key="m", kind="categorical", choices=(1, "auto", False)),
    )
)
NESTED = Space(
    (
        Parameter(key="mode", kind="categorical", choices=("off", "on")),
        Parameter(
            key="depth", kind="int", low=1, high=3, when=(Requirement(key="mode", any_of=("on",)),)
        ),
        Parameter(
            key="deep",
            kind="float",
            low=0.0,
            high=1.0,
            when=(Requirement(key="depth", any_of=(2, 3)),),
        ),
    )
)


@pytest.mark.parametrize("value", [1, 8, 4.0])
def test_bounds_are_inclusive(value: float) -> None:
    SPACE.check((Edit(key="n", value=value), Edit(key="m", value="auto")))
    assert SPACE.problem((Edit(key="n", value=value), Edit(key="m", value="auto"))) == ""


@pytest.mark.parametrize("value", [True, 0])
def test_a_choice_is_not_what_merely_equals_it(value: int) -> None:
    """In Python True is 1 and False is 0; in a configuration they are not."""
    with pytest.raises(ValueError, match="is none of"):
        SPACE.check((Edit(key="n", value=1), Edit(key="m", value=value)))


def test_open_ends_are_not_checked() -> None:
    space = Space((Parameter(key="n", kind="float", low=0.0),))
    space.check((Edit(key="n", value=1e12),))
    with pytest.raises(ValueError, match="lies outside"):
        space.check((Edit(key="n", value=-1.0),))


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ({"mode": "off", "depth": 3, "deep": 0.5}, ["mode"]),
        ({"mode": "on", "depth": 1, "deep": 0.5}, ["mode", "depth"]),
        ({"mode": "on", "depth": 2, "deep": 0.5}, ["mode", "depth", "deep"]),
    ],
)
def test_what_depends_on_an_absent_value_is_absent(
    values: dict[str, Scalar], keys: list[str]
) -> None:
    point = NESTED.point(values)
    assert [edit.key for edit in point] == keys
    NESTED.check(point)


def test_a_value_that_should_not_exist_is_refused() -> None:
    point = (Edit(key="mode", value="off"), Edit(key="depth", value=1))
    with pytest.raises(ValueError, match="point has keys"):
        NESTED.check(point)


def test_rules_are_asked_together() -> None:
    numbers = [Parameter(key=k, kind="int", low=1, high=64) for k in ("a", "b")]
    odd = Custom(lambda values: "b is even" if int(values["b"]) % 2 == 0 else "")
    space = Space(numbers, (AtMost(("a", "b"), 256), Ordered("a", "b"))).with_rules(odd)
    assert space.problem(space.point({"a": 3, "b": 5})) == ""
    assert space.problem(space.point({"a": 3, "b": 4})) == "b is even"
    assert space.problem(space.point({"a": 5, "b": 3})) == "a=5 exceeds b=3"
    assert "the product of a, b is 1024, above 256" in space.problem(
        space.point({"a": 32, "b": 32})
    )
    for seed in range(20):
        assert space.problem(space.draw(random.Random(seed))) == ""


def test_a_sum_may_be_bounded_and_absent_numbers_do_not_count() -> None:
    rule = AtMost(("a", "b"), 10, how="sum")
    assert rule.problem({"a": 10}) == ""
    assert rule.problem({"a": 10, "b": 1}) == "the sum of a, b is 11, above 10"
    assert Ordered("a", "b").problem({"a": 10}) == ""


def test_a_space_without_any_allowed_point_says_so() -> None:
    space = Space((Parameter(key="a", kind="int", low=2, high=3),), (AtMost(("a",), 1),))
    with pytest.raises(InvalidInputError, match="loosen the rules"):
        space.draw(random.Random(0))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([{"key": "a", "kind": "categorical"}], "has no choices"),
        ([{"key": "a", "kind": "int", "low": 3.2, "high": 3.8}], "no value between"),
        ([{"key": "a", "kind": "float", "low": 0.0, "high": 1.0, "log": True}], "logarithmic"),
        ([{"key": "a", "kind": "int", "low": 1, "high": 2}] * 2, "names a twice"),
        (
            [
                {
                    "key": "a",
                    "kind": "int",
                    "low": 1,
                    "high": 2,
                    "when": [{"key": "b", "any_of": [1]}],
                },
                {"key": "b", "kind": "int", "low": 1, "high": 2},
            ],
            "a depends on b, which must come before it",
        ),
    ],
)
def test_what_is_no_space_is_refused(parameters: list[dict[str, object]], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Space([Parameter.model_validate(each) for each in parameters])


@given(
    low=st.integers(1, 50),
    width=st.integers(0, 50),
    unit=st.floats(0, 1),
    kind=st.sampled_from(["int", "float"]),
    log=st.booleans(),
)
def test_a_value_maps_to_a_place_that_maps_to_it(
    *, low: int, width: int, unit: float, kind: str, log: bool
) -> None:
    fields = {"key": "k", "kind": kind, "low": low, "high": low + width, "log": log}
    parameter = Parameter.model_validate(fields)
    value = value_at(parameter, unit)
    assert low <= float(value) <= low + width
    again = value_at(parameter, unit_of(parameter, value))
    assert again == pytest.approx(value, rel=1e-9)


def test_every_choice_has_its_part_of_the_interval() -> None:
    parameter = Parameter(key="k", kind="categorical", choices=("x", "y", "z"))
    assert [value_at(parameter, unit) for unit in (0.0, 0.5, 1.0)] == ["x", "y", "z"]
    assert [unit_of(parameter, each) for each in ("x", "z")] == pytest.approx([1 / 6, 5 / 6])
    assert values_of(Space((parameter,)).point({"k": "y"})) == {"k": "y"}
