"""Finders that compare figures of a log or of the host with bounds."""

from typing import Literal

from arbor.core.rca.base import Find
from arbor.core.rca.finders import compiled, raw
from arbor.core.rca.lines import Line
from arbor.core.rca.record import Record
from arbor.events.causes import LogLine

FULL_BYTES = 16 * 1024 * 1024
"""A file system with less than this is as good as full."""
MIN_FREE_RATIO = 0.85
"""A device that nobody uses has at least this share of its memory free at the start."""
MIN_FOREIGN_RATIO = 0.2
"""Memory of another process, over the device's, from which on it is to blame."""
FULL_UTILIZATION_RATIO = 0.985
"""A memory fraction that leaves nothing to what allocates outside of the pool."""

_FREE_AT_START = compiled(
    r"free memory on device.*?\((?P<free>[\d.]+)/(?P<total>[\d.]+) ?[GM]iB\)"
)
_OTHER = compiled(r"\bprocess \d+ has (?P<used>[\d.]+) (?P<unit>[GM])iB memory in use")
_CAPACITY = compiled(r"total capacity (?:of )?(?P<total>[\d.]+) GiB|(?P<total2>[\d.]+) GiB total")
_SHOWN = compiled(
    r"\bpid:? ?\d+\b.*\b(?P<used>\d[\d.]*) ?(?P<unit>[GM])i?B\b.*(?:parent pid 1\b|orphan|started|"
    r"ago|defunct|zombie|previous)|(?:orphan|zombie|leftover|previous|defunct)\w*.*"
    r"(?:process|pid|vram|memory|server|engine)"
)
_LISTED = (
    compiled(
        r"\b(?:pid|process)\W{0,3}(?P<pid>\d{2,7})\b.*?\b(?P<used>\d[\d.]*) ?(?P<unit>[GM])i?B"
    ),
    compiled(r"\|\s+\d+\s+\S+\s+\S+\s+(?P<pid>\d+)\s+[CG+]+\s+\S+\s+(?P<used>\d+) ?(?P<unit>M)iB"),
)
"""Lines of process tables: those of people, and of nvidia-smi."""
_OWN_PID = compiled(r"\bpid=(\d+)")
_OUT_OF_MEMORY = compiled(r"out of memory|OutOfMemoryError|free memory on device")
_UTILIZATION = compiled(
    r"(?:gpu_memory_utilization|gpu-memory-utilization|mem[-_]fraction[-_]static)\W{1,4}"
    r"(?P<ratio>[01](?:\.\d+)?)"
)


def another_process_holds_memory(record: Record) -> tuple[LogLine, ...]:
    """Find that memory was missing, and that another process had it."""
    short = [x for x in record.lines if x.level != "info" and _OUT_OF_MEMORY.search(x.text)]
    if not short:
        return ()
    own = {pid for line in record.lines for pid in _OWN_PID.findall(line.raw.text)}
    shown = record.seen(_SHOWN)
    shown += [x for x in record.lines if x not in [*short, *shown] and _lists_other(x, own)]
    little = [x for x in short if _is_taken_at_start(x)]
    foreign = [x for x in short if _is_foreign(x)]
    told = [*little, *foreign] or (short[:1] if shown else [])
    return raw([*told, *shown]) if told else ()


def _lists_other(line: Line, own: set[str]) -> bool:
    """Return whether a line of a process table gives a gibibyte or more to somebody else."""
    if line.level:
        return False
    for pattern in _LISTED:
        for each in pattern.finditer(line.text):
            gib = float(each["used"]) / (1.0 if each["unit"].upper() == "G" else 1024.0)
            if each["pid"] not in own and gib >= 1.0:
                return True
    return False


def _is_taken_at_start(line: Line) -> bool:
    found = _FREE_AT_START.search(line.text)
    if found is None:
        return False
    return float(found["free"]) < MIN_FREE_RATIO * float(found["total"])


def _is_foreign(line: Line) -> bool:
    capacity = _CAPACITY.search(line.text)
    if capacity is None:
        return False
    total = float(capacity["total"] or capacity["total2"])
    used = sum(
        float(each["used"]) / (1.0 if each["unit"].upper() == "G" else 1024.0)
        for each in _OTHER.finditer(line.text)
    )
    return used > MIN_FOREIGN_RATIO * total


def asks_for_all_memory(record: Record) -> tuple[LogLine, ...]:
    """Find a memory fraction that leaves no room beside the pool."""
    return raw(
        [
            line
            for line in record.lines
            if any(
                float(each["ratio"]) >= FULL_UTILIZATION_RATIO
                for each in _UTILIZATION.finditer(line.text)
            )
        ]
    )


def is_nearly_full(which: Literal["disk", "shared_memory"]) -> Find:
    """Find that a file system was full when the program died without a word, or by SIGBUS."""

    def find(record: Record) -> tuple[LogLine, ...]:
        facts = record.incident.facts
        free = facts.disk_free_bytes if which == "disk" else facts.shared_memory_free_bytes
        if free is None or free >= FULL_BYTES or record.raised:
            return ()
        return (LogLine(number=0, text=f"{which.replace('_', ' ')}: {free} bytes free"),)

    return find
