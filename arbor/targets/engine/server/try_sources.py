"""Tells whether changed sources are worth a start: ``python -m ...try_sources OVERLAY``."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from arbor.targets.engine.server.errors import StartError
from arbor.targets.engine.server.overlay import changed_sources, install

_PACKAGE = changed_sources.__module__.rpartition(".")[0]
"""Not this module's own: it runs as a program."""
_COMPILE_LIMIT_S = 60.0


def try_sources(folder: Path) -> str | None:
    """Return what is wrong with the C++ sources of a folder, or None; import its modules.

    Raises:
        OverlayError: the folder holds a file that may not be replaced.
    """
    changed = sorted(changed_sources(folder))
    install(folder)
    for name in changed:
        if name.endswith(".py"):
            import_module(f"{_PACKAGE}.{name.removesuffix('.py').replace('/', '.')}")
            continue
        compiler = os.environ.get("CXX", "g++")
        words = [compiler, "-std=c++17", "-march=native", "-fsyntax-only", str(folder / name)]
        tried = subprocess.run(
            words, capture_output=True, text=True, timeout=_COMPILE_LIMIT_S, check=False
        )
        if tried.returncode != 0:
            return tried.stderr
    return None


def main() -> int:
    """Try the sources of the command line's folder; returns the exit code."""
    try:
        problem = try_sources(Path(sys.argv[1]))
    except StartError as error:
        problem = f"error: {error}"
    if problem is not None:
        print(problem, file=sys.stderr)  # noqa: T201 - what the check tells
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
