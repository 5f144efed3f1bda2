"""Runs one command in a jail below a guard: output, limits, and what it exceeded."""

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGXCPU, SIGXFSZ

import psutil

from arbor.events.errors import ArborError
from arbor.targets.child import ChildExit, ChildProcess, clean_environment
from arbor.targets.sandbox.isolation import isolation
from arbor.targets.sandbox.jail import EXIT_NO_JAIL
from arbor.targets.sandbox.order import Isolation, JailOrder, Limits, Network, secret_files

_TICK_S = 0.1
_TICKS_PER_LOOK_AT_DISK = 5
_NUM_OWN_PROCESSES = 2
"""The jail's own two, which wait for the program."""
_GRACE_S = 0.2
_OUTPUT_LIMIT_BYTES = 4 << 20
_SIGNAL_BASE = 128
_LIMIT_OF_SIGNAL: dict[int, str] = {SIGXCPU: "cpu_s", SIGXFSZ: "disk_bytes"}


class SandboxError(ArborError):
    """The jail could not be built though this machine allows it: nothing was run."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended.

    Attributes:
        exit_code: its exit code; None when a signal or a limit ended it.
        signal: number of the signal that ended it.
        exceeded: name of the limit that ended it, as in ``Limits``.
        output: last lines of what it wrote, without secrets.
        duration_s: seconds from start to end.
    """

    exit_code: int | None
    signal: int | None
    exceeded: str | None
    output: tuple[str, ...]
    duration_s: float

    @property
    def is_good(self) -> bool:
        """True when it ended by itself with exit code 0."""
        return self.exit_code == 0

    def __str__(self) -> str:
        if self.exceeded is not None:
            return f"stopped: more than its limit {self.exceeded}"
        if self.signal is not None:
            return f"ended by signal {self.signal}"
        return f"exit code {self.exit_code}"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A place to run commands: they write in the worktree and the scratch folder alone.

    Attributes:
        worktree: working directory of the commands.
        scratch: their home and temporary folder.
        log_path: file of the output, outside of both.
        network: what they can reach.
        limits: what each may use.
        isolation: how they are kept apart; the best of this machine by default.
        environment: variables beyond the clean environment.
    """

    worktree: Path
    scratch: Path
    log_path: Path
    network: Network = "none"
    limits: Limits = field(default_factory=Limits)
    isolation: Isolation = field(default_factory=isolation)
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, argv: Sequence[str]) -> Outcome:
        """Run a command to its end or to a limit; all that it started is gone afterwards.

        Raises:
            InvalidInputError: a variable of the environment looks like a secret.
            SandboxError: the jail could not be built.
            ServerFailedError: the guard did not start.
        """
        self.scratch.mkdir(parents=True, exist_ok=True)
        order = JailOrder(
            isolation=self.isolation,
            folder=self.worktree,
            writable=(self.worktree, self.scratch),
            hidden=secret_files(),
            network=self.network,
            limits=self.limits,
        )
        child = ChildProcess(
            order.argv(argv),
            self._environment(),
            self.scratch,
            self.log_path,
            grace_s=_GRACE_S,
            log_limit_bytes=_OUTPUT_LIMIT_BYTES,
        )
        begin_s = time.monotonic()
        with child:
            exceeded = self._watch(child, begin_s)
            ended = child.poll()
        output = child.log_tail()
        if ended is not None and ended.exit_code == EXIT_NO_JAIL and output:
            what = output[-1].partition("jail: ")[2]
            if what:
                raise SandboxError(f"the sandbox could not be built: {what}")
        code, number = (None, None) if exceeded or ended is None else _told(ended)
        exceeded = exceeded or _LIMIT_OF_SIGNAL.get(number or 0)
        return Outcome(code, number, exceeded, output, time.monotonic() - begin_s)

    def _environment(self) -> dict[str, str]:
        return clean_environment(
            {
                "HOME": str(self.scratch),
                "TMPDIR": str(self.scratch),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONNOUSERSITE": "1",
                **self.environment,
            }
        )

    def _watch(self, child: ChildProcess, begin_s: float) -> str | None:
        """Wait for the end; return the limit that was exceeded first, if one was."""
        limits, ticks = self.limits, 0
        before_bytes = _size_bytes(self.worktree, self.scratch)
        while child.wait(_TICK_S) is None:
            ticks += 1
            processes = _processes(child.pids())
            if time.monotonic() - begin_s > limits.wall_s:
                return "wall_s"
            if len(processes) > limits.num_processes + _NUM_OWN_PROCESSES:
                return "num_processes"
            if limits.memory_bytes is not None and _memory_bytes(processes) > limits.memory_bytes:
                return "memory_bytes"
            if ticks % _TICKS_PER_LOOK_AT_DISK == 0:
                grown_bytes = _size_bytes(self.worktree, self.scratch) - before_bytes
                if grown_bytes > limits.disk_bytes:
                    return "disk_bytes"
        return None

    def clear(self) -> None:
        """Remove the scratch folder with all that commands left in it."""
        shutil.rmtree(self.scratch, ignore_errors=True)


def _told(ended: ChildExit) -> tuple[int | None, int | None]:
    """Return exit code and signal; the jail's first process tells a signal as shells do."""
    code = ended.exit_code
    if code is not None and code > _SIGNAL_BASE:
        return None, code - _SIGNAL_BASE
    return code, ended.signal


def _processes(pids: Sequence[int]) -> list[psutil.Process]:
    found = []
    for pid in pids:
        with suppress(psutil.Error):
            found.append(psutil.Process(pid))
    return found


def _memory_bytes(processes: Sequence[psutil.Process]) -> int:
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def _size_bytes(*folders: Path) -> int:
    total = 0
    for folder in folders:
        for path in folder.rglob("*"):
            # it may vanish meanwhile, and a link counts as itself
            with suppress(OSError):
                total += path.lstat().st_size
    return total
