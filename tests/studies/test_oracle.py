"""Advisers of the function study."""

import pytest

from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.search.advice import Question
from arbor.search.space import values_of
from arbor.studies.oracle import NearAdviser, adviser_for
from arbor.studies.physical import physical_problems
from arbor.studies.synthetic import synthetic_problems

BOWL = synthetic_problems(1)[0]


def test_it_knows_about_where_the_optimum_is() -> None:
    points = NearAdviser(BOWL, 0).advise(Question(BOWL.space, (), 0, num=50))
    for key, best in zip("xy", BOWL.best_numbers, strict=True):
        values = [float(values_of(point)[key]) for point in points]
        assert abs(sum(values) / 50 - best) < 0.6
        assert max(values) - min(values) > 1.0


def test_where_nobody_knows_it_varies_what_was_tried() -> None:
    fin = next(each for each in physical_problems() if each.name == "fin")
    (point,) = NearAdviser(fin, 0).advise(Question(fin.space, (), 0))
    fin.space.check(point)


@pytest.mark.parametrize(
    ("adviser", "error", "message"),
    [
        (
            "oracle",
            NotFoundError,
            "no adviser 'oracle'; known: uniform, echo, stuck, mutator, near",
        ),
        ("nowhere:thing", InvalidInputError, "cannot be imported"),
        ("json:nothing", InvalidInputError, "cannot be imported"),
    ],
)
def test_an_unknown_adviser_is_named(adviser: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        adviser_for(adviser, BOWL, 0)


def test_an_adviser_of_yours_is_loaded_with_the_seed() -> None:
    made = adviser_for("arbor.search.advisers:UniformAdviser", BOWL, 3)
    question = Question(BOWL.space, (), 0)
    assert made.advise(question) == adviser_for("uniform", BOWL, 3).advise(question)
    assert made.advise(question) != adviser_for("uniform", BOWL, 4).advise(question)
