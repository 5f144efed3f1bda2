"""Builds a C++ source once per content, compiler flags and machine, and loads it."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from arbor.targets.engine.server.errors import CompilerMissingError
from arbor.targets.engine.server.overlay import source_of

CACHE_VARIABLE = "ARBOR_ENGINE_CACHE"

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
# p: pointer, n: integer, f: float.
_TYPES = {"p": ctypes.c_void_p, "n": ctypes.c_int64, "f": ctypes.c_float}


def load_library(name: str) -> ctypes.PyDLL:
    """Build if needed and load; calls keep the interpreter lock, being a few microseconds long.

    Args:
        name: the source's, without its ending.

    Raises:
        CompilerMissingError: There is no g++, or it refuses the source.
    """
    path = source_of(f"native/{name}.cpp")
    source = path.read_bytes()
    recipe = "\0".join((*_FLAGS, platform.node(), platform.machine())).encode()
    digest = hashlib.sha256(source + recipe).hexdigest()[:16]
    folder = Path(os.environ.get(CACHE_VARIABLE) or Path(tempfile.gettempdir()) / "arbor-engine")
    library = folder / f"{name}-{digest}.so"
    if not library.is_file():
        _build(path, library)
    return ctypes.PyDLL(str(library))


def declare(library: ctypes.PyDLL, signatures: Mapping[str, str]) -> ctypes.PyDLL:
    """Tell ctypes the functions' arguments, a letter each; none gives anything back."""
    for name, signature in signatures.items():
        function = getattr(library, name)
        function.argtypes = [_TYPES[letter] for letter in signature]
        function.restype = None
    return library


def _build(source: Path, library: Path) -> None:
    compiler = os.environ.get("CXX") or "g++"
    if shutil.which(compiler) is None:
        raise CompilerMissingError(
            f"{source.name} needs the C++ compiler {compiler!r}, which is not on PATH"
        )
    library.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".build-", suffix=".so", dir=library.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        subprocess.run(
            [compiler, *_FLAGS, "-o", str(temporary), str(source)],
            check=True,
            capture_output=True,
            text=True,
            timeout=_BUILD_TIMEOUT_S,
        )
        temporary.rename(library)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired, OSError) as error:
        detail = " ".join(str(getattr(error, "stderr", None) or error).split())[:300]
        raise CompilerMissingError(f"{compiler} cannot build {source.name}: {detail}") from error
    finally:
        temporary.unlink(missing_ok=True)
