"""Builds operators.cpp once per source, compiler flags and machine, and loads it."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from arbor.targets.engine.server.errors import CompilerMissingError

CACHE_VARIABLE = "ARBOR_ENGINE_CACHE"

_SOURCE = Path(__file__).with_name("operators.cpp")
# No -ffast-math: linked into a shared library it would flush denormals in the whole process.
_FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-mprefer-vector-width=512",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fassociative-math",
    "-fno-signed-zeros",
    "-freciprocal-math",
    "-shared",
    "-fPIC",
)
_BUILD_TIMEOUT_S = 120.0


def load_operators() -> ctypes.PyDLL:
    """Build if needed and load; calls keep the interpreter lock, being a few microseconds long.

    Raises:
        CompilerMissingError: There is no g++, or it refuses the source.
    """
    source = _SOURCE.read_bytes()
    recipe = "\0".join((*_FLAGS, platform.node(), platform.machine())).encode()
    digest = hashlib.sha256(source + recipe).hexdigest()[:16]
    folder = Path(os.environ.get(CACHE_VARIABLE) or Path(tempfile.gettempdir()) / "arbor-engine")
    library = folder / f"operators-{digest}.so"
    if not library.is_file():
        _build(library)
    return ctypes.PyDLL(str(library))


def _build(library: Path) -> None:
    compiler = os.environ.get("CXX") or "g++"
    if shutil.which(compiler) is None:
        raise CompilerMissingError(
            f"kernel.operators: cpp needs the C++ compiler {compiler!r}, which is not on PATH"
        )
    library.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".operators-", suffix=".so", dir=library.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        subprocess.run(
            [compiler, *_FLAGS, "-o", str(temporary), str(_SOURCE)],
            check=True,
            capture_output=True,
            text=True,
            timeout=_BUILD_TIMEOUT_S,
        )
        temporary.rename(library)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired, OSError) as error:
        detail = " ".join(str(getattr(error, "stderr", None) or error).split())[:300]
        raise CompilerMissingError(f"{compiler} cannot build {_SOURCE.name}: {detail}") from error
    finally:
        temporary.unlink(missing_ok=True)
