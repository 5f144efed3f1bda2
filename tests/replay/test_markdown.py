"""Foreign text cannot become markup, nor leave its cell."""

import re

from hypothesis import given
from hypothesis import strategies as st

from arbor.replay.markdown import code, table, text


@given(st.text())
def test_text_is_one_escaped_line(foreign: str) -> None:
    shown = text(foreign)
    assert shown.isprintable()
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>|#]", shown)


@given(st.text())
def test_code_stays_between_its_backticks_and_in_its_cell(foreign: str) -> None:
    shown = code(foreign)
    assert "`" not in shown
    assert shown.isprintable()
    assert "|" not in shown.replace("\\|", "")


def test_rows_have_the_columns_of_the_header() -> None:
    assert list(table(("a", "b"), [("1", "2")])) == ["| a | b |", "|---|---|", "| 1 | 2 |"]
