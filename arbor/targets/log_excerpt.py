"""Reads a log of any size: its head and its tail, with the true numbers of the lines."""

from collections.abc import Sequence
from pathlib import Path

from arbor.core.rca.excerpt import select
from arbor.events.causes import LogLine

HEAD_BYTES = 256 * 1024
TAIL_BYTES = 2 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
MAX_CHARACTERS = 400
"""Of a line that goes into the log of events."""


def read_log(path: Path) -> tuple[LogLine, ...]:
    """Return the first and the last lines of a log; between them nothing is looked at.

    Raises:
        OSError: the file cannot be read.
    """
    size_bytes = path.stat().st_size
    with path.open("rb") as file:
        if size_bytes <= HEAD_BYTES + TAIL_BYTES:
            return _numbered(file.read(), 1)
        head = file.read(HEAD_BYTES)
        head = head[: head.rfind(b"\n") + 1]
        num_before = head.count(b"\n")
        file.seek(len(head))
        left_bytes = size_bytes - TAIL_BYTES - len(head)
        while left_bytes > 0:
            chunk = file.read(min(_CHUNK_BYTES, left_bytes))
            if not chunk:
                break
            num_before += chunk.count(b"\n")
            left_bytes -= len(chunk)
        # the first line of the tail is cut, and has the number of the last newline plus one
        return (*_numbered(head, 1), *_numbered(file.read(TAIL_BYTES), num_before + 1))


def excerpt(paths: Sequence[Path]) -> tuple[LogLine, ...]:
    """Return the telling lines of a log that was written into several files, oldest first.

    Files that are not there or cannot be read are left out.
    """
    lines: list[LogLine] = []
    for path in paths:
        first = lines[-1].number if lines else 0
        try:
            read = read_log(path)
        except OSError:
            continue
        lines += (LogLine(number=first + x.number, text=x.text) for x in read)
    return tuple(
        x
        if len(x.text) <= MAX_CHARACTERS
        else LogLine(number=x.number, text=x.text[:MAX_CHARACTERS])
        for x in select(lines)
    )


def _numbered(text: bytes, first: int) -> tuple[LogLine, ...]:
    lines = text.decode(errors="replace").replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return tuple(
        # a progress bar overwrites its line: only its last state is looked at
        LogLine(number=n, text=line.rstrip("\r").rpartition("\r")[2])
        for n, line in enumerate(lines, start=first)
    )
