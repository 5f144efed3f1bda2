"""Puts a workspace's own sources in front of the engine's, for an allow-listed set of files.

A workspace holds a copy of every editable source in ``overlay/``, so a change is a diff against a
file that runs. Copies that equal the engine's own file change nothing and are passed over.
"""

import hashlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from arbor.targets.engine.server.errors import OverlayError

FOLDER = "overlay"

CATEGORIES = {
    "attention.py": "attention",
    "batch.py": "scheduler",
    "decoder.py": "linear",
    "elementwise.py": "norm_activation",
    "kv_cache.py": "kv_cache",
    "layer_operators.py": "norm_activation",
    "linear.py": "linear",
    "masks.py": "attention",
    "native/operators.cpp": "linear",
    "native/operators.py": "linear",
    "native/sampling.cpp": "sampling",
    "native/sampling.py": "sampling",
    "prefix_cache.py": "kv_cache",
    "rotary.py": "norm_activation",
    "sampler.py": "sampling",
    "scheduler.py": "scheduler",
    "speculation.py": "sampling",
}
"""Category of the profile that most of an editable source's time is counted for."""
EDITABLE = tuple(CATEGORIES)
"""Sources that may be replaced: what computes and schedules, not what counts or reports."""

_PACKAGE = Path(__file__).parent
_PACKAGE_NAME = __name__.rpartition(".")[0]


def digest_of(content: bytes) -> str:
    """Return what names a source's content in the server's state, as an edit of a patch does."""
    return hashlib.sha256(content).hexdigest()


def editable_sources() -> dict[str, bytes]:
    """Return the engine's own editable sources, by path below ``overlay/``."""
    return {name: (_PACKAGE / name).read_bytes() for name in EDITABLE}


def changed_sources(folder: Path) -> dict[str, str]:
    """Return the digests of the sources in a folder that differ from the engine's own.

    Raises:
        OverlayError: the folder holds a file that may not be replaced, or none can be read.
    """
    changed = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            continue
        if name not in EDITABLE:
            raise OverlayError(
                f"{FOLDER}/{name} may not be replaced; allowed: {', '.join(EDITABLE)}"
            )
        try:
            content = path.read_bytes()
        except OSError as error:
            raise OverlayError(f"{FOLDER}/{name} cannot be read: {error.strerror}") from error
        if content != (_PACKAGE / name).read_bytes():
            changed[name] = digest_of(content)
    return changed


class _UncachedLoader(SourceFileLoader):
    """Compiles at every start: a checkout is no place for caches, and times may lie."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _OverlayFinder(MetaPathFinder):
    """Finds the changed modules of a workspace before anybody else does."""

    def __init__(self, folder: Path, digests: dict[str, str]) -> None:
        self.folder = folder
        self.digests = digests

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the import system gives it
        target: ModuleType | None = None,  # noqa: ARG002 - the import system gives it
    ) -> ModuleSpec | None:
        """Return where a changed module is."""
        name = fullname.removeprefix(_PACKAGE_NAME + ".").replace(".", "/") + ".py"
        if name not in self.digests:
            return None
        source = str(self.folder / name)
        return spec_from_file_location(fullname, source, loader=_UncachedLoader(fullname, source))


def install(folder: Path) -> None:
    """Put the changed sources of a folder in front; before any of them is imported.

    Raises:
        OverlayError: the folder holds a file that may not be replaced.
    """
    digests = changed_sources(folder)
    if digests:
        sys.meta_path.insert(0, _OverlayFinder(folder, digests))


def overlaid() -> dict[str, str]:
    """Return the digests of the sources that stand in front, by path."""
    return {
        name: digest
        for finder in sys.meta_path
        if isinstance(finder, _OverlayFinder)
        for name, digest in finder.digests.items()
    }


def source_of(name: str) -> Path:
    """Return the file of an editable source that runs."""
    for finder in sys.meta_path:
        if isinstance(finder, _OverlayFinder) and name in finder.digests:
            return finder.folder / name
    return _PACKAGE / name
