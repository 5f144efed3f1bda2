"""Servers that outlived their guard: found by a mark that only Arbor sets, and ended."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "ARBOR_SERVER_LOG"
"""Environment variable of every server that is started as a program: the file of its log."""
_GUARD = "guard.py"
_GRACE_S = 5.0


def servers_of(directory: Path) -> Iterator[psutil.Process]:
    """Yield the processes of servers that were started as programs for a campaign's directory."""
    own = directory.resolve()
    for process in psutil.process_iter():
        # it ended meanwhile, or is somebody else's
        with suppress(psutil.Error):
            log = process.environ().get(MARK)
            if log and Path(log).is_relative_to(own):
                yield process


def leftovers(directory: Path) -> list[psutil.Process]:
    """Return the processes of servers of a campaign's directory that no guard watches any more."""
    found = []
    for process in servers_of(directory):
        with suppress(psutil.Error):
            if not _is_guarded(process):
                found.append(process)
    return found


def _is_guarded(process: psutil.Process) -> bool:
    return any(
        any(word.endswith(_GUARD) for word in each.cmdline())
        for each in (process, *process.parents())
    )


def end_leftovers(directory: Path) -> list[int]:
    """End what is left of a campaign's servers: SIGTERM, then SIGKILL; return the process ids."""
    processes = leftovers(directory)
    for process in processes:
        with suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=_GRACE_S)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=_GRACE_S)
    return [process.pid for process in processes]
