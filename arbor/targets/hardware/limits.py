"""Limits of control groups (both versions) on the processor time and memory of this process."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MEMBERSHIP = Path("/proc/self/cgroup")
_ROOT = Path("/sys/fs/cgroup")
# version 1 writes the greatest number of pages for "no limit"
_NO_LIMIT_BYTES = 2**60


@dataclass(frozen=True, slots=True)
class Limits:
    """The tightest limits; None where there is none or nothing can be read.

    Attributes:
        memory_bytes: memory.
        cores: processor seconds per second.
    """

    memory_bytes: int | None
    cores: float | None


def read_limits(membership: Path = _MEMBERSHIP, root: Path = _ROOT) -> Limits:
    """Return the tightest limits of this process's groups and all that enclose them.

    Args:
        membership: file that names the process's groups.
        root: where the groups' files are.
    """
    folders = list(_folders(membership, root))
    memories = [_memory_bytes(folder) for folder in folders]
    cores = [_cores(folder) for folder in folders]
    return Limits(
        memory_bytes=min((value for value in memories if value is not None), default=None),
        cores=min((value for value in cores if value is not None), default=None),
    )


def _folders(membership: Path, root: Path) -> Iterator[Path]:
    """Return the folders of all groups that hold the process, and of those around them."""
    try:
        lines = membership.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        # a group outside of this process's namespace begins with /..
        names = [name for name in path.split("/") if name not in {"", ".."}]
        for base in (root / controllers,) if controllers else (root, root / "unified"):
            for depth in range(len(names), -1, -1):
                yield base.joinpath(*names[:depth])


def _memory_bytes(folder: Path) -> int | None:
    for name in ("memory.max", "memory.limit_in_bytes"):
        value = _integer(_read(folder / name))
        if value is not None and 0 < value < _NO_LIMIT_BYTES:
            return value
    return None


def _cores(folder: Path) -> float | None:
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    quota_us, period_us = _integer(quota), _integer(period)
    if quota_us is None or period_us is None or quota_us <= 0 or period_us <= 0:
        return None
    return quota_us / period_us


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
