"""The excerpt of a long log holds its ends and its trouble, in order, within a limit."""

from hypothesis import given
from hypothesis import strategies as st

from arbor.core.rca.excerpt import MAX_LINES, NUM_FIRST, NUM_LAST, numbered, select


def test_trouble_in_the_middle_is_kept() -> None:
    log = [f"INFO step {n}" for n in range(5000)]
    log[2500] = "RuntimeError: in the middle"
    chosen = select(numbered(log))
    assert len(chosen) == NUM_FIRST + NUM_LAST + 1
    assert chosen[NUM_FIRST].number == 2501


def test_repeated_trouble_is_told_once() -> None:
    log = [f"ERROR request {n} failed" for n in range(5000)]
    assert len(select(numbered(log))) == NUM_FIRST + NUM_LAST + 1


@given(st.lists(st.sampled_from(["ok", "error a", "fatal b", "timeout"]), max_size=600))
def test_excerpts_are_ordered_parts_within_the_limit(texts: list[str]) -> None:
    lines = numbered([f"{text} {'abc'[n % 3]}" for n, text in enumerate(texts)])
    chosen = select(lines)
    assert len(chosen) <= MAX_LINES
    assert [x.number for x in chosen] == sorted({x.number for x in chosen})
    assert set(chosen) <= set(lines)
    assert select(chosen) == chosen
