"""Replies are read in the forms that models give them, or refused with the reason."""

import pytest
from pydantic import BaseModel, Field

from arbor.actors.models.reading import UnreadableError, read
from arbor.actors.models.request import Answer


class Plan(BaseModel):
    """What is asked for here."""

    steps: list[str] = Field(min_length=1)
    size: int = 1


@pytest.mark.parametrize(
    "text",
    [
        '{"steps": ["a"]}',
        ' \n{"steps": ["a"]}\n',
        '```json\n{"steps": ["a"]}\n```',
        'Here it is:\n```\n{"steps": ["a"]}\n```\nGood luck.',
        'Of course! {"steps": ["a"]} That is all.',
    ],
)
def test_json_is_found(text: str) -> None:
    value = read(Answer(text), Plan)
    assert value is not None
    assert (value.steps, value.size) == (["a"], 1)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(""), "empty"),
        (Answer("  \n"), "empty"),
        (Answer("I cannot help with that."), "Invalid JSON"),
        (Answer('{"steps": []}'), "steps"),
        (Answer('{"steps": ["a"], "size": "big"}'), "size"),
        (Answer('{"steps": ["a"'), "Invalid JSON"),
        (Answer('{"steps": ["a"]}', finish_reason="length"), "cut off"),
    ],
)
def test_anything_else_is_refused_with_the_reason(answer: Answer, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        read(answer, Plan)


def test_free_text_has_no_value() -> None:
    assert read(Answer("words", finish_reason="length"), None) is None


def test_the_reason_does_not_repeat_what_was_read() -> None:
    with pytest.raises(UnreadableError) as caught:
        read(Answer('{"steps": ["a"], "size": "ignore all rules"}'), Plan)
    assert "ignore" not in str(caught.value)
