"""Questions as text and replies as points."""

import json

import pytest

from arbor.search.advice import AdviceError, Question, Told
from arbor.search.space import values_of
from arbor.search.strategy import EvolutionStrategy
from arbor.search.wording import MAX_ROWS, describe, read_points
from tests.contracts.search_engine import FIRST, RULED, WHOLE


def test_a_question_names_space_trials_and_the_form_of_the_answer() -> None:
    text = describe(Question(WHOLE, [Told(FIRST[0], 1.25), Told(FIRST[1], None)]))
    assert "- a.size: whole number from 1.0 to 64.0, logarithmic scale" in text
    assert '- a.mode: one of ["x", "y", "z"]' in text
    assert '"a.size": 8' in text
    assert "-> 1.25" in text
    assert "-> failed" in text
    assert 'Answer with 1 point as JSON and nothing else: {"points":' in text


def test_conditions_rules_parent_and_optimiser_are_told() -> None:
    view = EvolutionStrategy(WHOLE, 0).view()
    text = describe(Question(WHOLE, (), 0, 2, Told(FIRST[0], 1.0), view))
    assert "Vary this trial:" in text
    assert "it would try:" in text
    assert "Answer with 2 points" in text
    assert 'only when mode is one of ["split"]' in describe(Question(RULED, ()))
    assert "- rule: the product of m, n is at most 8192" in describe(Question(RULED, ()))


def test_a_long_history_is_cut_to_the_best_and_the_latest() -> None:
    history = [Told(FIRST[0], float(n)) for n in range(1000)]
    text = describe(Question(WHOLE, history))
    assert text.count("->") == MAX_ROWS
    assert "-> 999" in text


def test_a_reply_is_typed_by_the_space() -> None:
    values = values_of(FIRST[0]) | {"a.size": 8.0, "a.rate": -1}
    reply = f"Here it is:\n```json\n{json.dumps({'points': [values]})}\n```"
    (point,) = read_points(reply, Question(WHOLE, ()))
    assert point == FIRST[0]
    assert [type(edit.value) for edit in point[:2]] == [int, float]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("I would rather not.", "the reply is not"),
        ('{"points": 3}', "the reply is not"),
        ('{"points": []}', "has 0 points"),
        ('{"points": [{"a.size": 8}]}', "no value for a.rate"),
        (json.dumps({"points": [values_of(FIRST[0]) | {"a.mode": "q"}]}), "is none of"),
        (json.dumps({"points": [values_of(FIRST[0]) | {"a.size": 8.5}]}), "no whole number"),
        (json.dumps({"points": [values_of(FIRST[0]) | {"a.mode": ["x"]}]}), "no plain value"),
    ],
)
def test_what_is_no_point_is_an_error(reply: str, message: str) -> None:
    with pytest.raises(AdviceError, match=message):
        read_points(reply, Question(WHOLE, ()))
