"""Finders for failures in code that the attempt brought along, not in what is installed."""

import re

from arbor.core.rca.base import Find
from arbor.core.rca.finders import compiled, raw
from arbor.core.rca.record import Record
from arbor.events.causes import LogLine

_INSTALLED = re.compile(
    r"(?:site|dist)-packages|/usr/lib|/lib/python3|/bin/|<frozen|<string>|cache|"
    r"/tmp/torchinductor|"
    r"multiprocessing|asyncio"
)
_OWN = re.compile(
    r"patch|overlay|custom|plugin|worktree|user_|my_|experiment|candidate|optimi[sz]ed"
)
"""Folders and files that code of one's own is usually kept in."""


def is_own(record: Record, path: str) -> bool:
    """Return whether a file belongs to the attempt: named by it, or kept where such code is."""
    if any(path.endswith(name) for name in record.incident.patch_files):
        return True
    return _INSTALLED.search(path) is None and _OWN.search(path.lower()) is not None


def in_patch(said: str) -> Find:
    """Find trouble below whose traceback the innermost frame is code of the attempt."""
    pattern = compiled(said)

    def find(record: Record) -> tuple[LogLine, ...]:
        hits = record.trouble(pattern)
        frames = [x for x in record.lines if x.kind == "frame"]
        if not hits or not frames:
            return ()
        before = [x for x in frames if x.number < hits[0].number] or frames
        innermost = before[-1]
        return raw([innermost, *hits]) if is_own(record, innermost.path) else ()

    return find
