"""Figures are found in what programs print, or it is said that they are not there."""

import pytest
from pydantic import TypeAdapter, ValidationError

from arbor.targets.command.locators import Locator, NotFoundInOutputError, Output

NOISY = """\
[INFO] {starting} up
{"a": 1}
{
  "rate": "inf",
  "tokens": [{"output": 12}],
  "total": "1,234.5"
}
done {
"""


def test_the_last_json_object_counts() -> None:
    output = Output(NOISY)
    assert output.number("tokens.0.output") == 12
    assert output.number("total") == 1234.5
    with pytest.raises(NotFoundInOutputError, match=r"there is no a"):
        output.find("a")


def test_a_pattern_finds_its_last_match() -> None:
    output = Output("Failed requests: 1\nFailed requests: 2\n")
    assert output.number(r"regex:Failed requests: (\d+)") == 2
    with pytest.raises(NotFoundInOutputError, match="nothing matches"):
        output.number(r"regex:Successful: (\d+)")


@pytest.mark.parametrize("text", ['{"x": "inf"}', '{"x": true}', '{"x": null}', '{"x": NaN}'])
def test_what_is_no_finite_number_is_told(text: str) -> None:
    with pytest.raises(NotFoundInOutputError, match="no finite number"):
        Output(text).number("x")


def test_output_without_json_is_told() -> None:
    with pytest.raises(NotFoundInOutputError, match="no JSON object"):
        Output("all went well\n").number("x")


@pytest.mark.parametrize("locator", ["", "a..b", "regex:(", "regex:abc", "regex:(a)(b)"])
def test_bad_locators_are_refused(locator: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Locator).validate_python(locator)
