"""How a guard and its server are started: what they are told, and the plain way to do it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

GUARD_START_LIMIT_S = 30.0
_GUARD = Path(__file__).with_name("guard.py")


@dataclass(frozen=True, slots=True)
class Order:
    """What a guard has to start, and how it and the worker hear of each other.

    Attributes:
        argv: the server's program and arguments.
        env: the server's environment.
        cwd: the server's folder.
        log_path: file of the server's output.
        log_limit_bytes: limit of the log.
        grace_s: how long the server may take to end by itself.
        leash: descriptor that the guard reads; its end ends the server.
        report: descriptor that the guard writes to.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    log_path: Path
    log_limit_bytes: int
    grace_s: float
    leash: int
    report: int


def launch_guard(order: Order) -> None:
    """Start a guard as a program of its own, which starts the server as another.

    Raises:
        OSError: the program cannot be run.
        subprocess.TimeoutExpired: it did not fork in time.
    """
    arguments = (os.getpid(), order.report, order.log_path, order.log_limit_bytes, order.grace_s)
    # the guard forks; what is waited for is only its first process
    subprocess.run(
        [sys.executable, "-I", "-S", str(_GUARD), *map(str, arguments), "--", *order.argv],
        stdin=order.leash,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=order.env,
        cwd=order.cwd,
        pass_fds=(order.report,),
        timeout=GUARD_START_LIMIT_S,
        check=False,
    )
