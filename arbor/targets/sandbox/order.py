"""What a jail is told: isolation, folders, network, limits; and its command line."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

Isolation = Literal["namespaces", "plain"]
"""``plain``: limits and a clean environment only, where the system allows no namespaces."""
Network = Literal["none", "loopback", "host"]
"""``loopback`` is one of the program's own; ``host`` is for servers that others must reach."""

_JAIL = Path(__file__).with_name("jail.py")
_SECRET_FILES = (
    ".aws",
    ".azure",
    ".cache/huggingface/token",
    ".config",
    ".docker",
    ".gnupg",
    ".kube",
    ".netrc",
    ".ssh",
)
"""Below a home: where programs keep what lets them in elsewhere."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use; None is no limit of its own.

    Attributes:
        wall_s: seconds from start to end.
        cpu_s: processor seconds of one process.
        memory_bytes: address space of one process, and resident memory of all together.
        disk_bytes: size of one file, and growth of the writable folders together.
        num_files: files that one process may have open.
        num_processes: processes and threads' owners at once.
    """

    wall_s: float = 120.0
    cpu_s: int | None = 120
    memory_bytes: int | None = 8 << 30
    disk_bytes: int = 1 << 30
    num_files: int = 1024
    num_processes: int = 64


def secret_files(home: Path | None = None) -> tuple[Path, ...]:
    """Return the files and folders of a home that a program must not see, as far as they exist.

    Args:
        home: the home; this user's by default.
    """
    base = Path.home() if home is None else home
    return tuple(path for name in _SECRET_FILES if (path := base / name).exists())


@dataclass(frozen=True, slots=True)
class JailOrder:
    """What a jail has to be.

    Attributes:
        isolation: how much the system allows.
        folder: the program's working directory.
        writable: folders in which it may write.
        hidden: files and folders that it must not see.
        network: what it can reach.
        has_own_processes: whether it sees its own processes alone; its process id then differs
            from the one that others see.
        limits: what it may use.
    """

    isolation: Isolation
    folder: Path
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    network: Network = "none"
    has_own_processes: bool = True
    limits: Limits = field(default_factory=Limits)

    def argv(self, program: Sequence[str]) -> tuple[str, ...]:
        """Return the command line that runs a program in this jail."""
        text = json.dumps(asdict(self), default=str)
        return sys.executable, "-I", "-S", str(_JAIL), text, "--", *program
