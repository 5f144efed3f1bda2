"""The telling lines of a long log: its beginning, its end, and what sounds like trouble."""

import re
from collections.abc import Sequence

from arbor.events.causes import LogLine

MAX_LINES = 240
NUM_FIRST = 24
NUM_LAST = 80

_TROUBLE = re.compile(
    r"error|exception|traceback|fail|fatal|fault|abort|assert|kill|crash|panic|dump|died|"
    r"timed? ?out|hang|watchdog|deadlock|\.lock\b|baton|no space|memory|oom|xid|uncorrect|reset|"
    r"refused|denied|illegal|invalid|unsupported|not supported|not found|undefined|unknown|"
    r'cannot|unable|mismatch|warn|nan\b|segmentation|signal|exit|cache|File "|usage:|non-default|'
    r"gate|accuracy|exact_match|throughput|replaced|capturing",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"0x[0-9a-f]+|\d+", re.IGNORECASE)


def select(lines: Sequence[LogLine], limit: int = MAX_LINES) -> tuple[LogLine, ...]:
    """Return at most ``limit`` lines in their order: the first, the last, and the telling ones.

    Lines that differ in numbers alone are told once. Of the telling lines the earliest and the
    latest are taken, since a root cause stands at the start of a chain or before the end.
    """
    if len(lines) <= limit:
        return tuple(lines)
    chosen = {line.number: line for line in (*lines[:NUM_FIRST], *lines[-NUM_LAST:])}
    seen: set[str] = set()
    telling: list[LogLine] = []
    for line in lines:
        if line.number in chosen or not _TROUBLE.search(line.text):
            continue
        shape = _VARIABLE.sub("#", line.text[:300])
        if shape not in seen:
            seen.add(shape)
            telling.append(line)
    room = max(limit - len(chosen), 0)
    half = room // 2
    kept = telling if len(telling) <= room else (*telling[: room - half], *telling[-half:])
    chosen |= {line.number: line for line in kept}
    return tuple(chosen[number] for number in sorted(chosen))


def numbered(texts: Sequence[str], first: int = 1) -> tuple[LogLine, ...]:
    """Return lines of text with their numbers."""
    return tuple(LogLine(number=n, text=text) for n, text in enumerate(texts, start=first))
