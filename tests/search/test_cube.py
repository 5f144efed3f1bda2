"""Points and vectors: there and back, whatever the space is made of."""

import random

import pytest

from arbor.events.types import Parameter
from arbor.search.cube import Cube, is_ordered
from arbor.search.space import Space, values_of
from tests.contracts.search_engine import RULED, WHOLE


@pytest.mark.parametrize("space", [WHOLE, RULED])
def test_a_point_comes_back_from_its_vector(space: Space) -> None:
    cube = Cube(space)
    for seed in range(50):
        point = space.draw(random.Random(seed))
        again = values_of(cube.to_point(cube.to_vector(point)))
        assert again == pytest.approx(values_of(point))


def test_unordered_choices_have_a_coordinate_each() -> None:
    cube = Cube(WHOLE)
    assert cube.dimension == 8
    assert cube.names[2:5] == ("a.mode=x", "a.mode=y", "a.mode=z")


@pytest.mark.parametrize(
    ("choices", "expected"),
    [((16, 32, 64), True), (("x", "y"), True), ((64, 32, 16), False), (("x", "y", "z"), False)],
)
def test_rising_numbers_are_ordered(choices: tuple[int | str, ...], *, expected: bool) -> None:
    assert is_ordered(Parameter(key="k", kind="categorical", choices=choices)) is expected


def test_beyond_the_cube_lies_its_face() -> None:
    point = Cube(WHOLE).to_point([-3.0, 4.0] + [0.5] * 6)
    assert [values_of(point)[key] for key in ("a.size", "a.rate")] == [1, 0.0]


def test_only_discrete_coordinates_have_a_smallest_step() -> None:
    steps = Cube(WHOLE).smallest_steps()
    assert steps[1] == 0.0
    assert steps[0] == pytest.approx(0.2 / 64)
    assert (steps[2:7] > 0).all()
