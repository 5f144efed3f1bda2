"""Campaigns as users run them: a real ``arbor`` process, its log, and all processes below it."""

import os
import pty
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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
LIMIT_S = 150.0
"""Nothing here takes this long; a test that waits longer has found a hang."""
_GONE_LIMIT_S = 30.0
_MARKER = "ARBOR_TEST_RUN"

Predicate = Callable[[list[Recorded]], object]
E = TypeVar("E", bound=Event)


def environment(**changes: str) -> dict[str, str]:
    """Return this process's environment without what another Ray has left in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return kept | changes


def arbor(*arguments: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run one ``arbor`` command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "arbor", *map(str, arguments)],
        cwd=REPOSITORY,
        env=environment(**changes),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


def write_campaign(path: Path, **content: Any) -> Path:
    """Write a campaign file."""
    path.write_text(yaml.safe_dump(content))
    return path


def landscape(path: Path, time_scale: float = 0.03, **changes: Any) -> Path:
    """Write a landscape campaign of twelve actions, slow enough to be disturbed in its middle."""
    content: dict[str, Any] = {
        "name": "disturbed",
        "target": "landscape",
        "target_config": {"time_scale": time_scale},
        "budget": {"wall": "5m"},
    }
    return write_campaign(path, **content | changes)


def small_engine(path: Path) -> Path:
    """Write a campaign of the smallest model that the engine can serve."""
    model = {
        "vocab_size": 64,
        "width": 32,
        "num_layers": 1,
        "num_heads": 2,
        "num_kv_heads": 1,
        "ffn_width": 32,
        "max_positions": 512,
    }
    options = {"synthetic": model, "concurrency": 4, "num_requests": 4, "length_scale": 0.1}
    return write_campaign(
        path,
        name="small-engine",
        target="engine",
        target_config=options,
        measure={"window_s": 0.2},
    )


@dataclass
class Driver:
    """A running ``arbor run`` or ``arbor resume`` in a process group of its own.

    Attributes:
        process: the driver itself.
        directory: the campaign's directory.
        seen: the log as it was whenever something was waited for.
    """

    process: subprocess.Popen[bytes]
    directory: Path
    marker: str
    out: Path
    err: Path
    seen: list[list[Recorded]] = field(default_factory=list)

    def wait_for(self, predicate: Predicate, what: str) -> list[Recorded]:
        """Return the log once a condition holds.

        Raises:
            AssertionError: the driver ended before, or it took too long.
        """
        deadline = time.monotonic() + LIMIT_S
        while True:
            recorded = read_log(self.directory)
            if predicate(recorded):
                self.seen.append(recorded)
                return recorded
            code = self.process.poll()
            assert code is None, f"the driver ended with {code} before {what}: {self.text()}"
            assert time.monotonic() < deadline, f"no {what} in {LIMIT_S:.0f} s: {self.text()}"
            time.sleep(0.02)

    def wait(self) -> int:
        """Return the exit code."""
        return self.process.wait(LIMIT_S)

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the whole process group, as a terminal does."""
        os.killpg(self.process.pid, number)

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

    def servers(self) -> list[psutil.Process]:
        """Return the servers of the engine target that run now."""
        module = "arbor.targets.engine.server"
        return [p for p in self.members() if module in _words(p) and "--config" in _words(p)]

    def keeper_pid(self) -> int:
        """Return the process id of the keeper, which announces itself in no event."""
        found = [p.pid for p in self.members() if "ray::Keeper" in " ".join(_words(p))]
        assert len(found) == 1, f"one keeper, found {found}"
        return found[0]

    def require_no_orphans(self) -> None:
        """Check that everything that this run started ends soon after the driver.

        Raises:
            AssertionError: something goes on.
        """
        deadline = time.monotonic() + _GONE_LIMIT_S
        while left := self.members():
            names = [f"{p.pid} {' '.join(_words(p))[:120]}" for p in left]
            assert time.monotonic() < deadline, f"orphans: {names}"
            time.sleep(0.1)

    def require_quiet(self) -> None:
        """Check that nothing but Arbor's own lines came out.

        Raises:
            AssertionError: Ray, a warning or a traceback did.
        """
        text = self.text()
        for noise in ("raylet", "ray::", "Traceback", "Warning", "WARNING", "retries remaining"):
            assert noise not in text, text


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@contextmanager
def driver(
    directory: Path, *arguments: str | Path, terminal: bool = False, **changes: str
) -> Iterator[Driver]:
    """Start ``arbor`` with arguments; end whatever is left of it afterwards.

    Args:
        directory: the campaign's directory.
        arguments: the command's.
        terminal: True to let it believe that people look on.
        changes: further environment variables.
    """
    marker = uuid.uuid4().hex
    out, err = (directory.with_name(f"{directory.name}.{marker[:6]}.{n}") for n in ("out", "err"))
    with out.open("wb") as out_file, err.open("wb") as err_file:
        ours, theirs = pty.openpty() if terminal else (-1, -1)
        process = subprocess.Popen(
            [sys.executable, "-m", "arbor", *map(str, arguments)],
            cwd=REPOSITORY,
            env=environment(**{_MARKER: marker, "COLUMNS": "110", "LINES": "40"} | changes),
            stdin=subprocess.DEVNULL,
            stdout=theirs if terminal else out_file,
            stderr=theirs if terminal else err_file,
            process_group=0,
        )
    if terminal:
        os.close(theirs)
        threading.Thread(target=_copy, args=(ours, out), daemon=True).start()
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


def _copy(source: int, path: Path) -> None:
    with path.open("ab", buffering=0) as file:
        # A terminal whose other end is gone fails to be read.
        with suppress(OSError):
            while chunk := os.read(source, 65536):
                file.write(chunk)
        os.close(source)


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


def num_lives(recorded: list[Recorded], actor: str) -> int:
    """Return the number of an actor's incarnations."""
    return sum(r.actor == actor and isinstance(r.event, IncarnationStarted) for r in recorded)


def kill(pid: int) -> None:
    """End a process that an event named, at once."""
    os.kill(pid, signal.SIGKILL)
