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

from arbor.events.types import Accelerator, Hardware
from arbor.targets.hardware import num_usable_cores, probe_hardware
from arbor.targets.hardware.peaks import peaks_of

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
_WIDE = ("avx512f", "avx512_bf16", "avx512_vnni", "amx", "sve", "sme")
CONFIRMED = {
    "amd": "AMD path: formats from documentation, not confirmed on hardware",
    "nvidia": "NVIDIA path: formats recorded on one H200",
}
"""Kind of accelerator to how far its formats have been confirmed."""


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


def devices() -> Iterator[Check]:
    """Describe the processor and the accelerators, and say what could not be seen."""
    found = probe_hardware()
    parts = [
        found.device_name,
        f"{found.num_sockets or 'unknown'} sockets",
        f"{found.num_physical_cores or 'unknown'} physical cores",
        f"{found.num_numa_nodes or 'unknown'} NUMA nodes",
        " ".join(flag for flag in found.isa_flags if flag.startswith(_WIDE)) or "no wide vectors",
    ]
    yield Check("processor", Level.OK, ", ".join(parts))
    yield Check("limits", Level.OK, _limits(found))
    for kind, label in CONFIRMED.items():
        is_here = found.kind == kind and found.num_devices > 0
        detail = f"{_accelerators(found) if is_here else 'none found'}; {label}"
        yield Check(kind, Level.OK if is_here else Level.NOTE, detail)
        for device in found.devices if is_here else ():
            yield Check(f"{kind} {device.index}", Level.OK, _accelerator(device))
    for gap in found.not_observed:
        yield Check("not observed", Level.NOTE, f"{gap.what}: {gap.reason}")


def _limits(found: Hardware) -> str:
    memory, cores = found.memory_limit_bytes, found.cpu_limit_cores
    return (
        f"control groups allow {f'{memory / _GIB:.1f} GiB' if memory else 'all the memory'}"
        f" and {f'{cores:g} cores' if cores else 'all the cores'}"
    )


def _accelerators(found: Hardware) -> str:
    described = f"{found.num_devices} devices"
    versions = [f"driver {found.driver_version}" if found.driver_version else ""]
    return ", ".join(text for text in (described, *versions, found.runtime_version) if text)


def _accelerator(device: Accelerator) -> str:
    memory = f"{device.memory_bytes / _GIB:.1f} GiB" if device.memory_bytes else "unknown memory"
    dies = f"{device.num_compute_dies} compute dies" if device.num_compute_dies else ""
    described = (device.name, device.architecture or "unknown architecture", memory, dies)
    text = ", ".join(part for part in (*described, device.partition) if part)
    peaks = peaks_of(device)
    if peaks is None:
        return f"{text}; peaks unknown"
    flops = [
        f"{name} {peaks.flop_per_s[name] / 1e12:.0f}"
        for name in ("bf16", "fp8", "fp4")
        if name in peaks.flop_per_s
    ]
    whole = " of the whole device" if device.partition else ""
    return (
        f"{text}; peaks{whole}: {', '.join(flops)} TFLOP/s dense,"
        f" memory {peaks.memory_bytes_per_s / 1e12:g} TB/s"
    )


CHECKS = (python, packages, programs, machine, devices)
"""All checks in order; a new one is a function and an entry here."""


def all_checks() -> Iterator[Check]:
    """Run every check."""
    for check in CHECKS:
        yield from check()
