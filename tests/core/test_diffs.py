"""Diffs from models: applied exactly where they fit, refused with a reason where they do not."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.core.diffs import DiffError, apply_files, parse_diff, paths_of

SOURCE = "def f(x):\n    y = x\n    return y\n\n\ndef g(x):\n    y = x\n    return -y\n"
HEAD = "--- a/m.py\n+++ b/m.py\n"
BACKWARDS = "@@ -8 +8 @@\n-    return -y\n+    return 1\n@@ -1 +1 @@\n-def f(x):\n+def k(x):\n"


def _apply(diff: str, source: str = SOURCE) -> str:
    return apply_files(parse_diff(diff), {"m.py": source})["m.py"]


def test_a_diff_changes_the_lines_that_it_quotes() -> None:
    diff = f"{HEAD}@@ -1,3 +1,3 @@\n def f(x):\n-    y = x\n-    return y\n+    return x + 1\n"
    assert _apply(diff) == SOURCE.replace("    y = x\n    return y\n", "    return x + 1\n", 1)


def test_wrong_counts_and_a_wrong_line_do_not_matter_where_only_one_place_fits() -> None:
    diff = f"{HEAD}@@ -40,9 +77,1 @@\n-    return -y\n+    return +y\n"
    assert _apply(diff) == SOURCE.replace("-y", "+y")


def test_several_hunks_and_git_s_own_lines() -> None:
    diff = (
        "diff --git a/m.py b/m.py\nindex 123..456 100644\n"
        f"{HEAD}@@ -3 +3 @@\n-    return y\n+    return 1\n"
        "@@ -8 +8 @@\n-    return -y\n+    return 2\n"
    )
    assert _apply(diff).count("return") == 2
    assert "return 1" in _apply(diff)
    assert "return 2" in _apply(diff)


def test_a_pure_insertion_goes_behind_its_line() -> None:
    assert _apply(f"{HEAD}@@ -0,0 +1,1 @@\n+import os\n").startswith("import os\ndef f")


def test_an_empty_line_may_have_lost_its_space() -> None:
    diff = f"{HEAD}@@ -3,4 +3,4 @@\n     return y\n\n\n-def g(x):\n+def h(x):\n"
    assert "def h(x):" in _apply(diff)


@pytest.mark.parametrize(
    ("diff", "reason"),
    [
        ("no diff at all", "no unified diff"),
        (f"{HEAD}nothing", "m.py: no hunk"),
        (f"{HEAD}@@ nonsense @@\n-a\n", "hunk 1: '@@ nonsense @@' is not"),
        (f"{HEAD}@@ -1 +1 @@\n*what\n", "begins with none of"),
        (
            f"{HEAD}@@ -2 +2 @@\n-    y = z\n+    y = 1\n",
            "line 2 is '    y = x', the diff expects",
        ),
        (f"{HEAD}@@ -5 +5 @@\n-    y = x\n+    y = 1\n", "its lines stand at 2, 7"),
        (f"{HEAD}@@ -99,0 +99,1 @@\n+x\n", "line 99 is beyond"),
        (f"{HEAD}{BACKWARDS}", "overlaps"),
        ("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n", "cannot be added"),
        ("--- a/m.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-def f(x):\n", "cannot be added, removed"),
        ("--- a/m.py\n+++ b/n.py\n@@ -1 +1 @@\n-def f(x):\n+def h(x):\n", "renamed"),
        ("--- a/other.py\n+++ b/other.py\n@@ -1 +1 @@\n-a\n+b\n", "there is no such file"),
        ("rename from a\nrename to b\n", "only lines of text files"),
        ("GIT binary patch\nliteral 3\n", "only lines of text files"),
    ],
)
def test_a_wrong_diff_is_answered_with_the_reason(diff: str, reason: str) -> None:
    with pytest.raises(DiffError) as caught:
        _apply(diff)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_paths_of_a_diff_are_named_and_none_leads_out_unseen() -> None:
    diff = (
        "--- a/x/../../etc/passwd\n+++ b/x/../../etc/passwd\n@@ -1 +1 @@\n-a\n+b\n"
        "--- a/one.py\n+++ b/two.py\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert paths_of(parse_diff(diff)) == ("../etc/passwd", "one.py", "two.py")


_LINES = st.lists(st.sampled_from(["a", "b", "  c", "", "-x", "+y", "@z"]), max_size=12)


@given(_LINES, _LINES)
def test_what_difflib_writes_is_applied(old: list[str], new: list[str]) -> None:
    before, after = "\n".join([*old, "end", ""]), "\n".join([*new, "end", ""])
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "a/m.py", "b/m.py", lineterm=""
    )
    diff = "\n".join(lines)
    if diff:
        assert _apply(diff, before) == after
