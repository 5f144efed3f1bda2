"""Patches as edits, what they may touch, and what makes two of them the same."""

import pytest

from arbor.core.patches import (
    change_digest,
    is_about_harness,
    key_of,
    moved_file,
    patched_paths,
    path_of,
    refusal,
)
from arbor.core.tree import ROOT_ID, Node, Status, Tree
from arbor.events.types import Edit

ALLOWED = ("overlay/attention.py", "overlay/native/operators.cpp")


def test_a_file_and_its_key_belong_together() -> None:
    for path in ALLOWED:
        assert path_of(key_of(path)) == path
    assert path_of("kernel.weights") is None
    edits = (Edit(key="overlay.attention.py", value="d"), Edit(key="a.b", value=1))
    assert patched_paths(edits) == ("overlay/attention.py",)


@pytest.mark.parametrize(
    ("path", "is_harness"),
    [
        ("overlay/sampler.py", False),
        ("serve.yaml", False),
        ("smapler.py", False),
        ("arbor/targets/engine/window.py", True),
        ("/etc/passwd", True),
        ("../blobs/ab/abcd", True),
        ("benchmarks/window.py", True),
        ("arbor/core/accuracy.py", True),
        ("tests/conftest.py", True),
        ("arbor/core/guardrails/../measure/sequential_gate.py", True),
    ],
)
def test_a_patch_beyond_its_files_is_refused_in_one_line(path: str, *, is_harness: bool) -> None:
    reason = refusal(("overlay/attention.py", path), ALLOWED)
    assert reason is not None
    assert path in reason
    assert "\n" not in reason
    assert is_about_harness((path,)) is is_harness
    assert ("harness" in reason) is is_harness


def test_a_patch_of_its_files_is_not_refused() -> None:
    assert refusal(ALLOWED, ALLOWED) is None


BEFORE = {"m.py": "def f(x):\n    return x\n", "n.cpp": "int f() { return 1; }\n"}


def test_comments_and_layout_make_no_change() -> None:
    same = {
        "m.py": "# new comment\ndef f( x ):\n\n    return (x)  # the same\n",
        "n.cpp": "// said\nint  f() { return 1; } /* so */\n",
    }
    assert change_digest(BEFORE, same) == ""


def test_equal_code_is_one_change_whatever_stands_around_it() -> None:
    first = change_digest(BEFORE, {"m.py": "def f(x):\n    return x + 1\n"})
    again = change_digest(BEFORE, {"m.py": "def f(x):\n    # better\n    return x  + 1\n"})
    other = change_digest(BEFORE, {"m.py": "def f(x):\n    return x + 2\n"})
    elsewhere = change_digest({"k.py": BEFORE["m.py"]}, {"k.py": "def f(x):\n    return x + 1\n"})
    assert first == again
    assert len({first, other, elsewhere}) == 3


def test_code_that_does_not_parse_is_a_change_of_its_own() -> None:
    assert change_digest(BEFORE, {"m.py": "def f(:\n"}) != ""


def test_a_patch_does_not_lie_on_another_version_of_its_file() -> None:
    tree = Tree()
    tree.nodes[ROOT_ID] = Node(ROOT_ID, None, None, None, Status.KEPT)
    edits = (Edit(key="overlay.attention.py", value="mine"),)
    tree.nodes["n001"] = Node("n001", ROOT_ID, "a001", "t", Status.READY, edits)
    assert moved_file(tree, "n001", edits, {"a.b": 1}) is None
    changed = {"overlay.attention.py": "another"}
    assert moved_file(tree, "n001", edits, changed) == "overlay/attention.py"
    assert moved_file(tree, "n001", (Edit(key="a.b", value=1),), changed) is None
