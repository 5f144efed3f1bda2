"""Where a figure stands in what a command printed: a path through JSON, or a pattern."""

import json
import re
from typing import Annotated, Any

from pydantic import AfterValidator

_REGEX = "regex:"
_MAX_SCAN_CHARACTERS = 1 << 22


class NotFoundInOutputError(ValueError):
    """A figure does not stand where the campaign file says."""


def _checked(locator: str) -> str:
    if locator.startswith(_REGEX):
        try:
            pattern = re.compile(locator.removeprefix(_REGEX))
        except re.error as error:
            raise ValueError(f"{locator!r} is no regular expression: {error}") from error
        if pattern.groups != 1:
            raise ValueError(f"{locator!r} needs one group in brackets, around the figure")
    elif not locator or not all(locator.split(".")):
        raise ValueError(f"{locator!r} is no path; write one such as a.b.0, or regex:...")
    return locator


Locator = Annotated[str, AfterValidator(_checked)]
"""``results.0.tokens`` through JSON, or ``regex:`` and a pattern with one group, whose last
match counts."""


class Output:
    """What a command printed or wrote, as text and, when asked, as JSON.

    Args:
        text: all of it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._document: Any = None

    def find(self, locator: str) -> Any:
        """Return what stands at a place.

        Raises:
            NotFoundInOutputError: there is nothing.
        """
        if locator.startswith(_REGEX):
            found = re.findall(locator.removeprefix(_REGEX), self._text, re.MULTILINE)
            if not found:
                raise NotFoundInOutputError(f"nothing matches {locator}")
            return found[-1]
        value = self.document()
        for key in locator.split("."):
            try:
                value = value[int(key)] if isinstance(value, list) else value[key]
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise NotFoundInOutputError(f"there is no {locator}") from error
        return value

    def number(self, locator: str) -> float:
        """Return a finite number that stands at a place, be it in quotes.

        Raises:
            NotFoundInOutputError: there is none.
        """
        value = self.find(locator)
        try:
            number = float(str(value).replace(",", "")) if not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or not abs(number) < float("inf"):
            raise NotFoundInOutputError(f"{locator} is {value!r}, no finite number")
        return number

    def document(self) -> Any:
        """Return the last JSON object or list; programs print other things before it.

        Raises:
            NotFoundInOutputError: there is none.
        """
        if self._document is None:
            self._document = _last_json(self._text[-_MAX_SCAN_CHARACTERS:])
        return self._document


def _last_json(text: str) -> Any:
    decoder = json.JSONDecoder()
    found, at = None, 0
    # an object or list that begins a line, and all that lies inside it is skipped
    for start in re.finditer(r"^[ \t]*[\[{]", text, re.MULTILINE):
        if start.end() - 1 < at:
            continue
        try:
            found, at = decoder.raw_decode(text, start.end() - 1)
        except ValueError:
            continue
    if found is None:
        raise NotFoundInOutputError("there is no JSON object in the output")
    return found
