"""Python programs that outlive the call that began them, told apart by a name."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_BEGUN: dict[int, subprocess.Popen[bytes]] = {}
"""By this very process."""


def begin(
    home: Path, name: str, words: Sequence[str], folder: Path, env: Mapping[str, str]
) -> None:
    """Run Python in the background, in a session of its own.

    Args:
        home: gets the log ``name.log`` and the process id ``name.pid``.
        name: of the program.
        words: arguments of Python.
        folder: where it runs.
        env: its environment.
    """
    with (home / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _BEGUN[process.pid] = process
    (home / f"{name}.pid").write_text(str(process.pid), encoding="ascii")
    print(f"began: python {' '.join(words)}")


def pid_of(home: Path, name: str) -> int | None:
    """Return the process id of a program; None when it was never begun."""
    try:
        pid = int((home / f"{name}.pid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    # other numbers mean groups of processes
    return pid if pid > 0 else None


def is_running(home: Path, name: str) -> bool:
    """Return whether a program was begun and has not ended."""
    pid = pid_of(home, name)
    if pid is None:
        return False
    if (process := _BEGUN.get(pid)) is not None:
        return process.poll() is None
    # begun by an earlier call: a child of whoever takes orphans
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"
