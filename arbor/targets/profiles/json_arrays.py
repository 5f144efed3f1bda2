"""Elements of named arrays in a JSON file of any size, without ever holding the file."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from arbor.events.errors import InvalidInputError

_CHUNK_CHARACTERS = 1 << 22
_MAX_ELEMENT_CHARACTERS = 1 << 24
_MAX_KEY_CHARACTERS = 256
_GZIP_MAGIC = b"\x1f\x8b"
_SEPARATORS = re.compile(r"[\s,]*")
_SPACE = re.compile(r"\s*")
# traces hold raw control characters in names
_DECODER = json.JSONDecoder(strict=False)


def read_arrays(path: Path, keys: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of every array that stands under one of some keys, with its key.

    A few megabytes of text are held at a time; the rest of the file is skipped unparsed. A file
    that is an array itself counts as one under the first key.

    Args:
        path: a JSON file, compressed with gzip or not.
        keys: keys at any depth.

    Raises:
        InvalidInputError: the file cannot be read, ends too early, or is no JSON.
    """
    try:
        with _open(path) as file:
            yield from _Scanner(path.name, file, keys).elements()
    except EOFError as error:
        raise _truncated(path.name) from error
    except (OSError, zlib.error) as error:
        raise InvalidInputError(f"{path}: cannot be read: {error}") from error


def _open(path: Path) -> TextIO:
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP_MAGIC
    if is_gzip:
        return cast("TextIO", gzip.open(path, "rt", encoding="utf-8", errors="replace"))
    return path.open(encoding="utf-8", errors="replace")


def _truncated(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"{name} ends in the middle: it is truncated; wait until the profiler has written it"
    )


class _Scanner:
    """Text of a file that is read on demand, and a place in it."""

    def __init__(self, name: str, file: TextIO, keys: Sequence[str]) -> None:
        self._name = name
        self._file = file
        self._keys = keys
        names = "|".join(map(re.escape, keys))
        # inside a string the quotes would be escaped
        self._start = re.compile(rf'(?<!\\)"({names})"\s*:\s*\[')
        self._text = ""
        self._at = 0

    def elements(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield all objects with the key of their array."""
        self._more()
        self._at = self._skip(_SPACE)
        if self._text.startswith("[", self._at):
            self._at += 1
            yield from self._array(self._keys[0])
            return
        while (found := self._find()) is not None:
            self._at = found.end()
            yield from self._array(found[1])

    def _find(self) -> re.Match[str] | None:
        """Return where the next array begins, or None at the end of a whole file."""
        while (found := self._start.search(self._text, self._at)) is None:
            # a key may lie across two pieces
            self._at = max(self._at, len(self._text) - _MAX_KEY_CHARACTERS)
            if not self._more():
                if not self._text.rstrip().endswith(("}", "]")):
                    raise _truncated(self._name)
                return None
        return found

    def _array(self, key: str) -> Iterator[tuple[str, dict[str, Any]]]:
        while True:
            self._at = self._skip(_SEPARATORS)
            if self._at == len(self._text):
                if not self._more():
                    raise _truncated(self._name)
            elif self._text[self._at] == "]":
                self._at += 1
                return
            else:
                element = self._element()
                if isinstance(element, dict):
                    yield key, element

    def _element(self) -> Any:
        while True:
            try:
                element, self._at = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > _MAX_ELEMENT_CHARACTERS:
                    raise InvalidInputError(f"{self._name} is no JSON: {error.msg}") from error
                if not self._more():
                    raise _truncated(self._name) from error
            else:
                return element

    def _skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self._text, self._at)
        return found.end() if found else self._at

    def _more(self) -> bool:
        """Read the next piece and forget what lies behind."""
        piece = self._file.read(_CHUNK_CHARACTERS)
        self._text = self._text[self._at :] + piece
        self._at = 0
        return bool(piece)
