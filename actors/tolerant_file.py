"""A text file for messages that may be lost: a full disk never breaks who writes them."""

import io
from contextlib import suppress
from pathlib import Path


class TolerantFile(io.TextIOBase):
    """Appends every write to a file at once, and loses what cannot be written.

    Args:
        path: the file; its folder is made when needed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, text: str) -> int:
        """Append text to the file."""
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(text)
        return len(text)
