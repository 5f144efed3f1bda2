"""Engines are made by name, and say what they need."""

import pytest

from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.events.types import Parameter
from arbor.search.advisers import UniformAdviser
from arbor.search.engine import ADVISED, ENGINES, create_engine

SPACE = (Parameter(key="n", kind="int", low=1, high=8),)


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(NotFoundError, match="no search engine 'magic'; known: random, tpe, cma"):
        create_engine("magic", SPACE, 0)


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_every_registered_engine_has_its_name(name: str) -> None:
    assert create_engine(name, SPACE, 0, adviser=UniformAdviser(0)).name == name


@pytest.mark.parametrize("name", sorted(ADVISED))
def test_without_an_adviser_a_hybrid_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} needs an adviser"):
        create_engine(name, SPACE, 0)
