"""How much isolation this machine allows, found out by trying, and what to say of little."""

import subprocess
import sys
from functools import cache
from pathlib import Path

from arbor.targets.sandbox.order import Isolation, JailOrder

PLAIN_WARNING = (
    "no user namespaces here: what a model writes runs with limits and a clean environment, but "
    "may read and write whatever this user may, and reach the network; allow unprivileged user "
    "namespaces (sysctl user.max_user_namespaces, or the container's seccomp profile), or run as "
    "a user of its own"
)
_LIMIT_S = 20.0


@cache
def isolation() -> Isolation:
    """Return the best isolation that works here; asked of the system once per process."""
    order = JailOrder(isolation="namespaces", folder=Path("/"))
    try:
        tried = subprocess.run(
            order.argv([sys.executable, "-I", "-S", "-c", ""]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={},
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "plain"
    return "namespaces" if tried.returncode == 0 else "plain"


def warning(found: Isolation) -> str | None:
    """Return what people must know about an isolation, or None where there is nothing to say."""
    return PLAIN_WARNING if found == "plain" else None
