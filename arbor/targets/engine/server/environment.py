"""What must be in the environment before the program starts: the allocator and its tunables."""

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from arbor.targets.engine.server.settings import DispatchSettings

_MODULE = "arbor.targets.engine.server"
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
)
_LIBRARIES = {
    "jemalloc": ("libjemalloc.so.2", "libjemalloc.so"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so"),
}


def installed_allocators() -> dict[str, Path]:
    """Return the libraries of the allocators that can be put in front of the system's."""
    folders = [Path(folder) for folder in _LIBRARY_FOLDERS]
    # Ray's wheels bring a jemalloc along, to be preloaded
    ray = find_spec("ray")
    folders += [Path(place) / "core" for place in (ray and ray.submodule_search_locations) or ()]
    found: dict[str, Path] = {}
    for name, files in _LIBRARIES.items():
        paths = (folder / file for folder in folders for file in files)
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            found[name] = path
    return found


def missing_variables(settings: DispatchSettings, present: Mapping[str, str]) -> dict[str, str]:
    """Return what an environment lacks; what is not installed cannot be asked for."""
    wanted = {}
    if settings.allocator != "system":
        library = installed_allocators().get(settings.allocator)
        wanted["LD_PRELOAD"] = "" if library is None else str(library)
    if settings.malloc == "huge_pages":
        wanted["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    return {
        name: ":".join(filter(None, (value, present.get(name))))
        for name, value in wanted.items()
        if value not in present.get(name, "")
    }


def ensure(settings: DispatchSettings) -> None:
    """Start this program again, in this process, if its environment lacks something."""
    missing = missing_variables(settings, os.environ)
    if not missing:
        return
    words = " ".join(f"{name}={value}" for name, value in missing.items())
    sys.stdout.write(f"starting again with {words}\n")
    sys.stdout.flush()
    argv = [sys.executable, "-m", _MODULE, *sys.argv[1:]]
    os.execve(sys.executable, argv, os.environ | missing)  # noqa: S606 - our own program
