"""What a reply says: the form that was asked for, or one line about what is wrong with it."""

import re
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from arbor.actors.models.request import Answer

T = TypeVar("T", bound=BaseModel)

CUT_OFF = frozenset({"length", "max_tokens"})
"""Reasons to stop that leave a reply unfinished."""
FILTERED = frozenset({"content_filter", "refusal"})
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)
_MAX_PROBLEMS = 5


class UnreadableError(ValueError):
    """A reply has not the form that was asked for; the text says why."""


def read(answer: Answer, schema: type[T] | None) -> T | None:
    """Return the value of a reply; None when free text was asked for.

    Raises:
        UnreadableError: it is empty, cut off, no JSON, or of another form.
    """
    if not answer.text.strip():
        raise UnreadableError("the reply is empty")
    if schema is None:
        return None
    if answer.finish_reason in CUT_OFF:
        raise UnreadableError("the reply was cut off at its longest: be shorter")
    problem = ""
    for text in _candidates(answer.text):
        try:
            return schema.model_validate_json(text)
        except ValidationError as error:
            problem = problem or _problem(error)
    raise UnreadableError(problem)


def _candidates(text: str) -> list[str]:
    """Return what may be the JSON: the whole reply, what is fenced, what stands in braces."""
    found = [text.strip(), *(each.strip() for each in _FENCED.findall(text))]
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        found.append(text[first : last + 1])
    return list(dict.fromkeys(found))


def _problem(error: ValidationError) -> str:
    lines = [
        f"{'.'.join(str(part) for part in each['loc']) or 'the reply'}: {each['msg']}"
        for each in error.errors(include_url=False, include_input=False)[:_MAX_PROBLEMS]
    ]
    return "; ".join(lines)
