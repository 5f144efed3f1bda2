"""Which feedback a planner is shown."""

import pytest

from arbor.core.feedback import KINDS, Route, resembles, route


@pytest.mark.parametrize(
    ("is_working", "is_known", "expected"),
    [
        (False, False, Route(("debugger",), "broken", is_summarised=False)),
        (True, False, Route(("profiler",), "working", is_summarised=False)),
        (True, True, Route(KINDS, "known", is_summarised=False)),
        (False, True, Route(KINDS, "known", is_summarised=False)),
    ],
)
def test_the_state_of_the_code_decides(
    expected: Route, *, is_working: bool, is_known: bool
) -> None:
    found = route("routed", is_working=is_working, is_known=is_known, is_coder_weak=False)
    assert found == expected


@pytest.mark.parametrize("mode", ["debugger", "profiler", "full"])
def test_settings_may_force_it(mode: str) -> None:
    found = route(mode, is_working=True, is_known=True, is_coder_weak=True)
    assert found.shown == (KINDS if mode == "full" else (mode,))
    assert found.rule == "forced"
    assert found.is_summarised


def test_code_resembles_what_shares_most_of_its_names() -> None:
    kept = "-    order = sort(row)\n+    values, order = topk(row, count)\n"
    assert resembles("values, order = topk(row, limit)", [kept])
    assert not resembles("cache[index] = block.clone()", [kept])
    assert not resembles("", [kept])
    assert not resembles("a b c", [])
