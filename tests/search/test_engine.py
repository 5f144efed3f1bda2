"""Engines are made by name; points are checked against their space."""

import pytest

from arbor.events.errors import NotFoundError
from arbor.events.types import Edit, Parameter
from arbor.search.engine import check_point, create_engine

SPACE = (
    Parameter(key="n", kind="int", low=1, high=8),
    Parameter(key="m", kind="categorical", choices=(1, "auto", False)),
)


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(NotFoundError, match="no search engine 'magic'; known: "):
        create_engine("magic", SPACE, 0)


@pytest.mark.parametrize("value", [1, 8, 4.0])
def test_bounds_are_inclusive(value: float) -> None:
    check_point(SPACE, (Edit(key="n", value=value), Edit(key="m", value="auto")))


@pytest.mark.parametrize("value", [True, 0])
def test_a_choice_is_not_what_merely_equals_it(value: int) -> None:
    """In Python True is 1 and False is 0; in a configuration they are not."""
    with pytest.raises(ValueError, match="is none of"):
        check_point(SPACE, (Edit(key="n", value=1), Edit(key="m", value=value)))


def test_open_ends_are_not_checked() -> None:
    space = (Parameter(key="n", kind="float", low=0.0),)
    check_point(space, (Edit(key="n", value=1e12),))
    with pytest.raises(ValueError, match="lies outside"):
        check_point(space, (Edit(key="n", value=-1.0),))
