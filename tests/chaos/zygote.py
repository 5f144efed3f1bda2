"""Processes that start at once: a program that has imported everything forks on command.

Each line on its standard input is a JSON list ``[role, arguments...]``; it answers with the pid.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.chaos.actor import act
from tests.chaos.keeper_service import serve

REPOSITORY = Path(__file__).parents[2]
ROLES: dict[str, Callable[..., None]] = {"keeper": serve, "actor": act}


class Zygote:
    """The other end: starts processes and ends whatever is left of them."""

    def __init__(self, stderr: Path) -> None:
        with stderr.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )
        self._pids: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pid in self._pids:
            end(pid)
        self._process.communicate()

    def start(self, role: str, *arguments: str) -> int:
        """Start a process in a role and return its pid."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([role, *arguments]) + "\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        self._pids.add(pid)
        return pid

    def kill(self, pid: int) -> None:
        """End a process at once."""
        end(pid)
        self._pids.discard(pid)


def end(pid: int) -> None:
    """Kill a process that was started here; harmless when it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def main() -> None:
    """Fork a process for every line."""
    # The dead are buried by the system: nobody here waits for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in iter(sys.stdin.readline, ""):
        role, *arguments = json.loads(line)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            os.close(1)
            ROLES[role](*arguments)
            os._exit(0)
        print(pid, flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
