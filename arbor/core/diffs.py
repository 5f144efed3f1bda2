"""Unified diffs as text from a model: parsed, applied exactly, refused with the reason."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbor.events.errors import ArborError

_HEADER = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_NOT_TEXT = ("Binary files ", "GIT binary patch", "rename from ", "copy from ")
_NOWHERE = "/dev/null"
_SHOWN_CHARACTERS = 120


class DiffError(ArborError, ValueError):
    """A diff cannot be applied; its text is the reason, for whoever wrote the diff."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of a file that changes.

    Attributes:
        line: where it says it begins in the old file, from 1.
        old: lines that are there, in order.
        new: lines that shall be there.
    """

    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The hunks of one file.

    Attributes:
        old_path: the file before, without ``a/``; empty for a new file.
        new_path: the file after, without ``b/``; empty for a removed one.
    """

    old_path: str
    new_path: str
    hunks: tuple[Hunk, ...]


def parse_diff(text: str) -> tuple[FileDiff, ...]:
    """Return the files of a unified diff; counts of lines in headers are not relied upon.

    Raises:
        DiffError: it is none, or does more than change the lines of text files.
    """
    lines = text.rstrip("\n").splitlines()
    for line in lines:
        if line.startswith(_NOT_TEXT):
            raise DiffError(f"{line[:_SHOWN_CHARACTERS]!r}: only lines of text files can change")
    starts = [i for i in range(len(lines) - 1) if _is_file_header(lines, i)]
    if not starts:
        raise DiffError("no unified diff: it needs '--- a/FILE' and '+++ b/FILE' before its hunks")
    ends = [*starts[1:], len(lines)]
    return tuple(_file(lines[i:end]) for i, end in zip(starts, ends, strict=True))


def _is_file_header(lines: Sequence[str], at: int) -> bool:
    return lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")


def _file(lines: Sequence[str]) -> FileDiff:
    old_path, new_path = _path(lines[0], "a/"), _path(lines[1], "b/")
    name = new_path or old_path
    heads = [i for i, line in enumerate(lines) if line.startswith("@@")]
    if not heads:
        raise DiffError(
            f"{name}: no hunk; each begins with a line '@@ -LINE,COUNT +LINE,COUNT @@'"
        )
    ends = [*heads[1:], len(lines)]
    hunks = tuple(
        _hunk(name, number, lines[i:end])
        for number, (i, end) in enumerate(zip(heads, ends, strict=True), start=1)
    )
    return FileDiff(old_path, new_path, hunks)


def _path(line: str, prefix: str) -> str:
    path = line[4:].split("\t", maxsplit=1)[0].strip()
    if path == _NOWHERE:
        return ""
    return posixpath.normpath(path.removeprefix(prefix))


def _hunk(name: str, number: int, lines: Sequence[str]) -> Hunk:
    match = _HEADER.match(lines[0])
    if match is None:
        raise DiffError(
            f"{name}, hunk {number}: {lines[0]!r} is not '@@ -LINE,COUNT +LINE,COUNT @@'"
        )
    old: list[str] = []
    new: list[str] = []
    for line in lines[1:]:
        # an empty line is an empty line of the file whose one space was lost
        sign, content = line[:1] or " ", line[1:]
        if sign not in {" ", "-", "+", "\\"}:
            if _is_between_files(line):
                break
            raise DiffError(
                f"{name}, hunk {number}: {line[:_SHOWN_CHARACTERS]!r} begins with none of ' ', "
                "'-' and '+'"
            )
        if sign in {" ", "-"}:
            old.append(content)
        if sign in {" ", "+"}:
            new.append(content)
    return Hunk(int(match[1]), tuple(old), tuple(new))


def _is_between_files(line: str) -> bool:
    return line.startswith(("diff ", "index ", "new file ", "deleted file ", "similarity "))


def paths_of(files: Sequence[FileDiff]) -> tuple[str, ...]:
    """Return every path that a diff names, sorted."""
    named = {path for file in files for path in (file.old_path, file.new_path) if path}
    return tuple(sorted(named))


def apply_files(files: Sequence[FileDiff], sources: Mapping[str, str]) -> dict[str, str]:
    """Return the changed files' new texts.

    A hunk must find its old lines exactly: at its line, or else at one place only.

    Args:
        files: the parsed diff.
        sources: texts by path.

    Raises:
        DiffError: a file is new, gone or moved, or a hunk does not fit.
    """
    changed: dict[str, str] = {}
    for file in files:
        if file.old_path != file.new_path:
            raise DiffError(
                f"{file.new_path or file.old_path}: files cannot be added, removed or renamed"
            )
        source = changed.get(file.new_path, sources.get(file.new_path))
        if source is None:
            raise DiffError(f"{file.new_path}: there is no such file")
        changed[file.new_path] = _apply(file, source)
    return {path: text for path, text in changed.items() if text != sources[path]}


def _apply(file: FileDiff, source: str) -> str:
    lines = source.split("\n")
    result: list[str] = []
    cursor = 0
    for number, hunk in enumerate(file.hunks, start=1):
        at = _place(f"{file.new_path}, hunk {number}", hunk, lines, cursor)
        result += lines[cursor:at]
        result += hunk.new
        cursor = at + len(hunk.old)
    return "\n".join([*result, *lines[cursor:]])


def _place(name: str, hunk: Hunk, lines: Sequence[str], cursor: int) -> int:
    """Return the index at which a hunk fits.

    Raises:
        DiffError: it fits nowhere, or at several places and not where it says.
    """
    if not hunk.old:
        # nothing of the file is quoted: the header's line is the one before
        if cursor <= hunk.line <= len(lines):
            return hunk.line
        raise DiffError(f"{name}: line {hunk.line} is beyond the file's {len(lines)}")
    size = len(hunk.old)
    fitting = [
        i for i in range(cursor, len(lines) - size + 1) if tuple(lines[i : i + size]) == hunk.old
    ]
    said = hunk.line - 1
    if said in fitting:
        return said
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        places = ", ".join(str(i + 1) for i in fitting[:5])
        raise DiffError(f"{name}: its lines stand at {places}; give the line, or more context")
    raise DiffError(f"{name}: {_first_difference(hunk, lines, said)}")


def _first_difference(hunk: Hunk, lines: Sequence[str], said: int) -> str:
    """Return where a hunk differs from the file, at the line that it says, or that fits best."""
    best = max(range(len(lines)), key=lambda i: _num_equal(hunk, lines, i), default=0)
    at = said if _num_equal(hunk, lines, said) >= _num_equal(hunk, lines, best) else best
    for offset, expected in enumerate(hunk.old):
        index = at + offset
        found = lines[index] if 0 <= index < len(lines) else None
        if found != expected:
            shown = "the end" if found is None else repr(found[:_SHOWN_CHARACTERS])
            return (
                f"line {index + 1} is {shown}, the diff expects {expected[:_SHOWN_CHARACTERS]!r}"
            )
    return "it overlaps the hunk before"


def _num_equal(hunk: Hunk, lines: Sequence[str], at: int) -> int:
    if at < 0:
        return -1
    pairs = zip(hunk.old, lines[at : at + len(hunk.old)], strict=False)
    return sum(expected == found for expected, found in pairs)
