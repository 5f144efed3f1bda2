"""A user's own commands beside a server: run to their end under a guard, and read."""

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess, clean_environment
from arbor.targets.command.commands import TimedCommand
from arbor.targets.command.locators import Output
from arbor.targets.command.template import Values
from arbor.targets.secrets import scrub

_OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024
_POLL_S = 0.02
_TAIL_LINES = 20


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Attributes:
        output: what it printed, or wrote into its output file.
        duration_s: wall time from its start to its end.
        cpu_s: processor time of it and of all below it, as last seen.
    """

    output: Output
    duration_s: float
    cpu_s: float


def run_command(
    command: TimedCommand, values: Values, folder: Path, phase: str, name: str
) -> Ended:
    """Run a command until it ends; everything that it started ends with it.

    Args:
        command: what is run.
        values: for its placeholders; ``output`` is added unless it is there.
        folder: where it runs.
        phase: phase that a failure belongs to.
        name: what a failure calls it.

    Raises:
        ServerFailedError: it did not start, took too long, or ended with another code than 0.
    """
    with tempfile.TemporaryDirectory(prefix="arbor-") as scratch:
        own = Path(scratch)
        filled: Values = {"output": str(own / "output"), **values}
        child = ChildProcess(
            command.argv(filled),
            clean_environment(command.environment(filled)),
            folder,
            own / "log",
            log_limit_bytes=_OUTPUT_LIMIT_BYTES,
        )
        started_s = time.monotonic()
        with child:
            cpu_s = _wait(child, command.limit_s, phase, name)
        duration_s = time.monotonic() - started_s
        return Ended(Output(_read(own, filled)), duration_s, cpu_s)


def _wait(child: ChildProcess, limit_s: float, phase: str, name: str) -> float:
    """Return the processor time once the command has ended well."""
    deadline_s = time.monotonic() + limit_s
    cpu_s = 0.0
    while (ended := child.poll()) is None:
        cpu_s = max(cpu_s, child.cpu_seconds())
        if time.monotonic() > deadline_s:
            raise _failure(child, phase, f"{name} did not end within {limit_s:g} s")
        time.sleep(_POLL_S)
    if ended.exit_code != 0:
        raise _failure(child, phase, f"{name} {ended}")
    return cpu_s


def _failure(child: ChildProcess, phase: str, message: str) -> ServerFailedError:
    """Return an error about the command; its code and signal are not the server's."""
    return ServerFailedError(phase, message, log_tail=scrub(child.log_tail(_TAIL_LINES)))


def _read(own: Path, filled: Mapping[str, object]) -> str:
    written = Path(str(filled["output"]))
    files = [written] if written.is_file() else [own / "log.1", own / "log"]
    return "".join(file.read_text(errors="replace") for file in files if file.is_file())
