"""Patches as edits: a changed file is a key that holds the digest of the file's new content.

``overlay.native/operators.cpp`` stands for the workspace's file
``overlay/native/operators.cpp``. The server of a patched commit reports the same key with the same
digest, so the witness, the constraints and the rebuilding of paths know patches without being told
of them.
"""

import ast
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256

from arbor.core.tree import Tree
from arbor.events.types import Edit, Scalar

FILE_SECTION = "overlay"
"""Section of keys, and folder of the workspace, that files of patches belong to."""
_PREFIX = f"{FILE_SECTION}."
_HARNESS = re.compile(
    r"bench|gate|accuracy|harness|golden|test|conftest|reference|witness|profil|workload|trace",
    re.IGNORECASE,
)
"""What the paths of benchmarks, gate data and harnesses are called."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MAX_LISTED = 4


def path_of(key: str) -> str | None:
    """Return the workspace's file that a key stands for; None for a key of the configuration."""
    if not key.startswith(_PREFIX):
        return None
    return f"{FILE_SECTION}/{key.removeprefix(_PREFIX)}"


def key_of(path: str) -> str:
    """Return the key of a file of a patch."""
    return _PREFIX + path.removeprefix(f"{FILE_SECTION}/")


def patched_paths(edits: Iterable[Edit]) -> tuple[str, ...]:
    """Return the files that edits change."""
    return tuple(path for edit in edits if (path := path_of(edit.key)) is not None)


def moved_file(
    tree: Tree, node_id: str, edits: Iterable[Edit], config: Mapping[str, Scalar]
) -> str | None:
    """Return a file of a patch that is another one now than where the patch was written, or None.

    A patch holds whole files: on top of another version it would undo what that one changed.

    Args:
        tree: the tree.
        node_id: node that the patch was written for.
        edits: the patch's.
        config: configuration that it is to lie on.
    """
    parent_id = tree.node(node_id).parent_id
    if parent_id is None:
        return None
    base = tree.config_at(parent_id)
    for edit in edits:
        path = path_of(edit.key)
        if path is not None and base.get(edit.key) != config.get(edit.key):
            return path
    return None


def is_about_harness(paths: Sequence[str]) -> bool:
    """Return whether files lie where a workspace has none, or are called like those that judge."""
    return any(_HARNESS.search(path) or _is_elsewhere(path) for path in paths)


def _is_elsewhere(path: str) -> bool:
    """Return whether a path leads out of what a workspace holds; a bare name may be a slip."""
    return "/" in path and not path.startswith(f"{FILE_SECTION}/")


def refusal(paths: Sequence[str], allowed: Sequence[str]) -> str | None:
    """Return why a patch of these paths must not be made, in one line, or None."""
    wrong = [path for path in paths if path not in allowed]
    if not wrong:
        return None
    shown = ", ".join(wrong[:_MAX_LISTED])
    if is_about_harness(wrong):
        return (
            f"it touches {shown}: benchmark, gate data and harness are not for a patch to change"
        )
    return f"it touches {shown}, which the action does not name; allowed: {', '.join(allowed)}"


def change_digest(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return what names a change: equal for equal code, whatever its comments and layout.

    Args:
        before: texts by path; all files of ``after`` are in it.
        after: the changed files' new texts.

    Returns:
        The digest; empty when nothing but comments and layout changes.
    """
    told = []
    for path in sorted(after):
        old, new = _normal(path, before[path]), _normal(path, after[path])
        lines = difflib.unified_diff(old, new, lineterm="", n=0)
        moved = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
        if moved:
            told += [path, *moved]
    return sha256("\n".join(told).encode()).hexdigest() if told else ""


def _normal(path: str, text: str) -> list[str]:
    """Return a file's lines without comments and layout; of one that does not parse, as it is."""
    if path.endswith(".py"):
        with suppress(SyntaxError, ValueError, RecursionError):
            text = ast.unparse(ast.parse(text))
        return text.splitlines()
    squeezed = (" ".join(line.split()) for line in _COMMENT.sub("", text).splitlines())
    return [line for line in squeezed if line]
