"""Advisers without a model keep the rules and vary what they should."""

import random

import pytest

from arbor.search.advice import Adviser, Question, Told
from arbor.search.advisers import EchoAdviser, MutatorAdviser, StuckAdviser, UniformAdviser
from arbor.search.cube import Cube
from tests.contracts.search_engine import RULED, WHOLE

ADVISERS = (UniformAdviser(1), StuckAdviser(), EchoAdviser(1), MutatorAdviser(1))


@pytest.mark.parametrize("adviser", ADVISERS, ids=lambda each: each.name)
def test_points_are_of_the_space_and_keep_its_rules(adviser: Adviser) -> None:
    parent = None
    for number in range(20):
        (point,) = adviser.advise(Question(RULED, (), number, parent=parent))
        RULED.check(point)
        assert RULED.problem(point) == ""
        parent = Told(point, 1.0)


def test_a_stuck_adviser_gives_one_point_for_ever() -> None:
    points = {StuckAdviser().advise(Question(WHOLE, (), n))[0] for n in range(5)}
    assert len(points) == 1


def test_an_echo_repeats_the_best() -> None:
    told = [Told(WHOLE.draw(random.Random(n)), -float(n)) for n in range(3)]
    assert EchoAdviser(0).advise(Question(WHOLE, told, 3)) == [told[0].point]


def test_variations_are_new_and_near_their_parent() -> None:
    parent = Told(WHOLE.draw(random.Random(0)), 1.0)
    question = Question(WHOLE, [parent], 3, num=40, parent=parent)
    points = MutatorAdviser(0).advise(question)
    assert len({*points, parent.point}) == 41
    cube = Cube(WHOLE)
    rates = [abs(cube.to_vector(p)[1] - cube.to_vector(parent.point)[1]) for p in points]
    assert sorted(rates)[20] < 0.2


def test_the_best_trial_is_varied_where_that_is_wanted() -> None:
    told = [Told(WHOLE.draw(random.Random(n)), -float(n)) for n in range(3)]
    mutator = MutatorAdviser(0, varies_best=True)
    asked = mutator.advise(Question(WHOLE, told, 3))
    assert asked == mutator.advise(Question(WHOLE, told, 3, parent=told[0]))
    assert asked != MutatorAdviser(0).advise(Question(WHOLE, told, 3))


@pytest.mark.parametrize("adviser", ADVISERS, ids=lambda each: each.name)
def test_equal_turns_give_equal_advice(adviser: Adviser) -> None:
    question = Question(WHOLE, (), 7, num=3)
    assert adviser.advise(question) == adviser.advise(question)
