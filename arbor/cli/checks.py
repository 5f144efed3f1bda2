"""What `arbor doctor` looks at: one function a check."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import psutil

from arbor.targets.hardware import num_usable_cores

REQUIRED = (
    "ray",
    "pydantic",
    "litellm",
    "pyarrow",
    "duckdb",
    "structlog",
    "typer",
    "rich",
    "pyyaml",
    "numpy",
    "psutil",
    "aiohttp",
    "scipy",
)
OPTIONAL = ("torch", "safetensors", "optuna", "cma", "nevergrad", "triton", "vllm")
_GIB = 2**30
_MIN_MEMORY_BYTES = 4 * _GIB
_MIN_DISK_BYTES = 2 * _GIB
_MIN_SHARED_BYTES = 256 * 2**20
_LIMIT_S = 20.0


class Level(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor.

    Attributes:
        name: what was looked at.
        level: how it ended; only ``missing`` fails.
        detail: what was found.
        fix: what to do about it, when something is to be done.
    """

    name: str
    level: Level
    detail: str
    fix: str = ""


def _output(*command: str) -> str | None:
    """Return the output of a program, None when it is missing, fails or hangs."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def python() -> Iterator[Check]:
    """Check the interpreter."""
    found = sys.version.split()[0]
    is_new = sys.version_info >= (3, 11)
    yield Check(
        "python",
        Level.OK if is_new else Level.MISSING,
        f"{found} at {sys.executable}",
        "" if is_new else "install Python 3.11 or later",
    )


def packages() -> Iterator[Check]:
    """Check the packages that Arbor needs, and list those that it can use."""
    for name in REQUIRED:
        try:
            yield Check(name, Level.OK, version(name))
        except PackageNotFoundError:
            yield Check(name, Level.MISSING, "not installed", f"pip install {name}")
    for name in OPTIONAL:
        try:
            yield Check(name, Level.OK, version(name) + _build(name))
        except PackageNotFoundError:
            extra = {"triton": "kernels", "vllm": "vllm"}.get(name, "search")
            extra = "engine" if name in {"torch", "safetensors"} else extra
            fix = f"pip install 'arbor-inference[{extra}]'"
            yield Check(name, Level.NOTE, "not installed, optional", fix)


def _build(name: str) -> str:
    """Return for which devices torch was built, without importing it."""
    if name != "torch":
        return ""
    spec = find_spec("torch")
    folders = spec.submodule_search_locations if spec is not None else None
    if not folders:
        return ""
    try:
        text = (Path(folders[0]) / "version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    for key, title in (("hip", "ROCm"), ("cuda", "CUDA")):
        match = re.search(rf"^{key}\b[^=\n]*= *'([^']+)'", text, re.MULTILINE)
        if match is not None:
            return f" (built for {title} {match[1]})"
    return " (built for CPU)"


def programs() -> Iterator[Check]:
    """Check the programs that Arbor starts."""
    compiler = os.environ.get("CXX", "g++")
    found = _output(compiler, "--version")
    yield Check(
        "compiler",
        Level.OK if found else Level.MISSING,
        found.splitlines()[0] if found else f"{compiler} does not run",
        "" if found else "apt-get install g++, or set CXX",
    )
    git = _output("git", "--version")
    yield Check(
        "git",
        Level.OK if git else Level.MISSING,
        git or "git does not run",
        "" if git else "apt-get install git",
    )


def machine() -> Iterator[Check]:
    """Check cores, memory and disks."""
    cores = num_usable_cores()
    yield Check("cores", Level.OK, f"{cores} usable of {os.cpu_count()}")
    memory = psutil.virtual_memory()
    is_enough = memory.available >= _MIN_MEMORY_BYTES
    yield Check(
        "memory",
        Level.OK if is_enough else Level.NOTE,
        f"{memory.available / _GIB:.1f} GiB free of {memory.total / _GIB:.1f} GiB",
        "" if is_enough else "close other programs: Ray and two servers want 4 GiB",
    )
    free = shutil.disk_usage(Path.cwd()).free
    is_enough = free >= _MIN_DISK_BYTES
    yield Check(
        "disk",
        Level.OK if is_enough else Level.MISSING,
        f"{free / _GIB:.1f} GiB free in {Path.cwd()}",
        "" if is_enough else "free 2 GiB, or work in another folder",
    )
    shared = Path("/dev/shm")  # noqa: S108 - Ray's object store lives there
    if shared.is_dir():
        free = shutil.disk_usage(shared).free
        is_enough = free >= _MIN_SHARED_BYTES
        yield Check(
            "shared memory",
            Level.OK if is_enough else Level.NOTE,
            f"Ray's object store: {free / _GIB:.1f} GiB free in {shared}",
            "" if is_enough else "enlarge it (docker run --shm-size=1g); Ray falls back to /tmp",
        )


def amd_devices(topology: Path = Path("/sys/class/kfd/kfd/topology/nodes")) -> Iterator[Check]:
    """List AMD GPUs by the kernel driver's files."""
    found = []
    for node in sorted(topology.glob("*/properties")):
        try:
            text = node.read_text(encoding="utf-8")
        except OSError:
            continue
        fields = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
        if fields.get("simd_count", "0").strip() != "0":
            found.append(_gfx_name(fields.get("gfx_target_version", "")))
    detail = f"{len(found)} devices ({', '.join(sorted(set(found)))})" if found else "none found"
    detail += "; this parsing is not confirmed on an AMD GPU"
    yield Check("amd", Level.OK if found else Level.NOTE, detail)


def _gfx_name(number: str) -> str:
    """Return ``gfx942`` of ``90402``: major, minor and stepping, two decimal digits each."""
    if not number.strip().isdigit():
        return "unknown"
    value = int(number)
    return f"gfx{value // 10000}{value // 100 % 100:x}{value % 100:x}"


def nvidia_devices() -> Iterator[Check]:
    """List NVIDIA GPUs as their own tool does."""
    query = "--query-gpu=name,memory.total"
    names = _output("nvidia-smi", query, "--format=csv,noheader")
    if names:
        lines = [line.strip() for line in names.splitlines() if line.strip()]
        detail = f"{len(lines)} devices ({'; '.join(sorted(set(lines)))})"
        yield Check("nvidia", Level.OK, detail)
        return
    num = len(list(Path("/dev").glob("nvidia[0-9]*")))
    detail = f"{num} devices, nvidia-smi does not run" if num else "none found"
    yield Check("nvidia", Level.NOTE, detail)


CHECKS = (python, packages, programs, machine, amd_devices, nvidia_devices)
"""All checks in order; a new one is a function and an entry here."""


def all_checks() -> Iterator[Check]:
    """Run every check."""
    for check in CHECKS:
        yield from check()
