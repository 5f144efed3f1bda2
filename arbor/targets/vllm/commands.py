"""Programs of the server's environment that run beside it: under a guard, within a limit."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arbor.targets.child import ChildProcess

_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that ended well.

    Attributes:
        wall_s: how long it ran.
        cpu_s: its processor time, up to the last look at it.
    """

    wall_s: float
    cpu_s: float


def run_beside(
    argv: Sequence[str],
    env: Mapping[str, str],
    folder: Path,
    *,
    phase: str,
    limit_s: float,
    server: ChildProcess,
) -> Ran:
    """Run a program to its end.

    Args:
        argv: the program and its arguments.
        env: its environment.
        folder: its folder, which also holds its log.
        phase: phase that a failure belongs to.
        limit_s: after so long it is ended.
        server: the server that it talks to; when that ends, so does the program.

    Raises:
        ServerFailedError: it failed or took too long, or the server ended.
    """
    name = " ".join(Path(argv[0]).name.split()) + "".join(f" {word}" for word in argv[1:3])
    started_s = time.monotonic()
    cpu_s = 0.0
    with ChildProcess(argv, env, folder, folder / "client.log") as child:
        while (end := child.wait(_LOOK_S)) is None:
            cpu_s = max(cpu_s, child.cpu_seconds())
            server.check(phase)
            if time.monotonic() - started_s > limit_s:
                raise child.failure(phase, f"{name} did not end within {limit_s:g} s")
        if end.exit_code != 0:
            server.check(phase)
            last = next((line for line in reversed(child.log_tail()) if line.strip()), "no output")
            raise child.failure(phase, f"{name} {end}: {last.strip()[:200]}")
    return Ran(time.monotonic() - started_s, cpu_s)
