"""Placeholders are filled in once, strictly, and values in files are quoted."""

import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.command.template import Values, placeholders, render, render_file


def test_names_are_filled_in_once() -> None:
    values: Values = {"a": "${b}", "b": 2, "c": True}
    assert render("x-${a}-${b}-${c}", values) == "x-${b}-2-true"
    assert placeholders("${a} $b $$ ${c}") == {"a", "c"}


def test_two_dollars_stand_for_the_text() -> None:
    assert render("$${a} $ $5", {}) == "${a} $ $5"
    assert not placeholders("$${a}")


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"unknown name \$\{x\}.*known: a, b"):
        render("${x}", {"b": 1, "a": 1})


def test_values_in_json_and_yaml_are_quoted() -> None:
    values: Values = {"name": 'a"b: c', "on": False, "ratio": 0.5}
    text = '{"name": ${name}, "on": ${on}, "ratio": ${ratio}}'
    assert render_file("c.json", text, values) == (
        '{"name": "a\\"b: c", "on": false, "ratio": 0.5}'
    )
    assert render_file("c.yaml", "name: ${name}", values) == 'name: "a\\"b: c"'
    assert render_file("c.txt", "name ${name}", values) == 'name a"b: c'
