"""A line of a log, taken apart: prefixes off, level, and what kind of line it is."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from arbor.events.causes import LogLine

Level = Literal["info", "warning", "error", ""]
Kind = Literal["frame", "source", "plain"]

_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        # vLLM and Ray name the process: (Worker_TP0 pid=1), (raylet, ip=10.0.0.1)
        r"\([A-Za-z][\w.+\-: ]*(?:pid|ip)=[^()]*\)\s?",
        r"\((?:raylet|autoscaler)[^()]*\)\s?",
        r"\[rank\d+\]:\s?",
        # container runtimes and journals put a time in front
        (
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\s+"
            r"(?:std(?:out|err) [FP] )?"
        ),
        r"\d\d-\d\d \d\d:\d\d:\d\d\s+",
        # SGLang: [2025-01-01 00:00:00 TP0]
        r"\[\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\]]*\]\s?",
        # [core.py:10]
        r"\[[\w./\-]+\.(?:py|cpp|cc|h|cu|hpp|rs):\d+\]\s?",
        r"(?:- )?(?P<word>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\b:?(?: - )?\s?",
        # glog: E0101 00:00:00.0 123 file.cc:1]  and  [E101 00:00:00.0 File.cpp:1]
        r"\[(?P<glog>[IWEF])(?:\d{3,4})? [^\]]*\]\s?",
        r"(?P<glog2>[IWEF])\d{4} [\d:.]+\s+\d+ [\w./]+:\d+\]\s?",
    )
)
_LEVELS: dict[str, Level] = {
    "DEBUG": "info",
    "INFO": "info",
    "I": "info",
    "WARNING": "warning",
    "WARN": "warning",
    "W": "warning",
    "ERROR": "error",
    "CRITICAL": "error",
    "FATAL": "error",
    "E": "error",
    "F": "error",
}
# the communication libraries name the level in the middle of the line
_LATE_LEVEL = re.compile(
    r"^\S+:\d+:\d+ \[\d+\] (?:\S+:\d+ )?N?[RN]?CCL (INFO|WARN)\b|NCCL (INFO)\b"
)
_WARNING = re.compile(r"\b\w*Warning: |^warning: ")
_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line \d+')
_MARKS = re.compile(r"^\s*[\^~]+[\s\^~]*$")
_MAX_PREFIXES = 8
_MAX_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log, taken apart.

    Attributes:
        raw: as it stands in the log, cut after 1,000 characters.
        text: without its prefixes.
        path: the file that a frame names; else empty.
    """

    raw: LogLine
    text: str
    level: Level
    kind: Kind
    path: str = ""

    @property
    def number(self) -> int:
        """Number of the line in the log."""
        return self.raw.number


def _strip(text: str) -> tuple[str, Level]:
    level: Level = ""
    for _ in range(_MAX_PREFIXES):
        bare = text.lstrip()
        for pattern in _PREFIXES:
            found = pattern.match(bare)
            if found is not None and found.end() > 0:
                names = found.groupdict()
                word = names.get("word") or names.get("glog") or names.get("glog2")
                level = level or (_LEVELS[word] if word else "")
                text = bare[found.end() :]
                break
        else:
            break
    if not level:
        late = _LATE_LEVEL.search(text)
        if late is not None:
            # what these libraries call a warning ends the program
            level = "error" if late[1] == "WARN" else "info"
        elif _WARNING.search(text):
            level = "warning"
    return text, level


def parse(lines: Iterable[LogLine]) -> Iterator[Line]:
    """Yield the lines of a log, taken apart."""
    follows_frame = False
    for raw in lines:
        cut = raw if len(raw.text) <= _MAX_CHARACTERS else _shortened(raw)
        text, level = _strip(cut.text)
        frame = _FRAME.match(text)
        if frame is not None:
            yield Line(cut, text, level, "frame", frame["path"])
            follows_frame = True
            continue
        is_source = (follows_frame and text.startswith(" ")) or _MARKS.match(text) is not None
        yield Line(cut, text, level, "source" if is_source else "plain")
        follows_frame = follows_frame and is_source


def _shortened(raw: LogLine) -> LogLine:
    return LogLine(number=raw.number, text=raw.text[:_MAX_CHARACTERS])
