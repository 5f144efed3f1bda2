"""Campaigns as users run them: a real ``arbor`` process, its log, and all processes below it."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
import yaml

from arbor.core.layout import CampaignDirectory
from arbor.events.base import Event, Recorded
from arbor.events.errors import NotFoundError
from arbor.events.life import IncarnationStarted
from arbor.events.parquet_reader import ParquetReader

REPOSITORY = Path(__file__).resolve().parents[2]
LIMIT_S = 120.0
"""Nothing here takes this long; a test that waits longer has found a hang."""
_GONE_LIMIT_S = 20.0
_MARKER = "ARBOR_TEST_RUN"

Predicate = Callable[[list[Recorded]], object]
E = TypeVar("E", bound=Event)


def arbor(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run one ``arbor`` command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "arbor", *map(str, arguments)],
        cwd=REPOSITORY,
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


def clean_environment() -> dict[str, str]:
    """Return this process's environment without what another Ray has left in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


def write_campaign(path: Path, **content: Any) -> Path:
    """Write a campaign file."""
    path.write_text(yaml.safe_dump(content))
    return path


def landscape(path: Path, **changes: Any) -> Path:
    """Write a landscape campaign that takes about half a minute, long enough to be disturbed."""
    content: dict[str, Any] = {
        "name": "disturbed",
        "target": "landscape",
        "target_config": {"time_scale": 0.05},
        "budget": {"wall": "5m"},
    }
    return write_campaign(path, **content | changes)


@dataclass
class Driver:
    """A running ``arbor run`` or ``arbor resume``.

    Attributes:
        process: the driver itself.
        directory: the campaign's directory.
    """

    process: subprocess.Popen[bytes]
    directory: Path
    marker: str
    out: Path
    err: Path

    def events(self) -> list[Recorded]:
        """Return what is in the log now."""
        return read_log(self.directory)

    def wait_for(self, predicate: Predicate, what: str) -> list[Recorded]:
        """Return the log once a condition holds.

        Raises:
            AssertionError: the driver ended before, or it took too long.
        """
        deadline = time.monotonic() + LIMIT_S
        while True:
            recorded = self.events()
            if predicate(recorded):
                return recorded
            code = self.process.poll()
            assert code is None, f"the driver ended with {code} before {what}: {self.text()}"
            assert time.monotonic() < deadline, f"no {what} in {LIMIT_S:.0f} s: {self.text()}"
            time.sleep(0.02)

    def wait(self) -> int:
        """Return the exit code."""
        return self.process.wait(LIMIT_S)

    def text(self) -> str:
        """Return what was printed so far, both streams."""
        return self.out.read_text() + self.err.read_text()

    def members(self) -> list[psutil.Process]:
        """Return every process of this run but the driver: Ray's, actors, guards, servers.

        Ray's processes inherit the driver's environment; guards and servers do not, but have the
        campaign's directory in their arguments.
        """
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.pid in {self.process.pid, os.getpid()}:
                    continue
                if process.status() == psutil.STATUS_ZOMBIE:
                    continue
                is_marked = process.environ().get(_MARKER) == self.marker
                if is_marked or any(str(self.directory) in word for word in process.cmdline()):
                    found.append(process)
        return found

    def require_no_orphans(self) -> None:
        """Check that everything that this run started ends soon after the driver.

        Raises:
            AssertionError: something goes on.
        """
        deadline = time.monotonic() + _GONE_LIMIT_S
        while left := self.members():
            names = [f"{p.pid} {' '.join(_command(p))[:120]}" for p in left]
            assert time.monotonic() < deadline, f"orphans: {names}"
            time.sleep(0.1)


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return ["ended"]


@contextmanager
def driver(directory: Path, *arguments: str | Path, **environment: str) -> Iterator[Driver]:
    """Start ``arbor`` with arguments; end whatever is left of it afterwards."""
    marker = uuid.uuid4().hex
    out, err = (directory.with_name(f"{directory.name}.{marker[:6]}.{n}") for n in ("out", "err"))
    with out.open("wb") as out_file, err.open("wb") as err_file:
        process = subprocess.Popen(
            [sys.executable, "-m", "arbor", *map(str, arguments)],
            cwd=REPOSITORY,
            env=clean_environment() | {_MARKER: marker} | environment,
            stdin=subprocess.DEVNULL,
            stdout=out_file,
            stderr=err_file,
        )
    running = Driver(process, directory, marker, out, err)
    try:
        yield running
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
            for left in running.members():
                with suppress(psutil.Error):
                    left.kill()


def read_log(directory: Path) -> list[Recorded]:
    """Return the events of a campaign; none while there is no log."""
    try:
        return list(ParquetReader(CampaignDirectory(directory).log).read())
    except NotFoundError:
        return []


def only(recorded: list[Recorded], kind: type[E]) -> list[E]:
    """Return the events of one kind, in order."""
    return [r.event for r in recorded if isinstance(r.event, kind)]


def pid_of(recorded: list[Recorded], actor: str) -> int:
    """Return the process id of an actor's latest incarnation."""
    started = [
        r.event.process_id
        for r in recorded
        if r.actor == actor and isinstance(r.event, IncarnationStarted)
    ]
    return started[-1]


def kill(pid: int) -> None:
    """End a process that an event named, at once."""
    os.kill(pid, signal.SIGKILL)
