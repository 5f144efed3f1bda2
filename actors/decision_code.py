"""A digest of the code that decides: a log can be recomputed by the code that made it alone."""

import ast
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import arbor

ROOTS = ("arbor.actors.orchestrator", "arbor.actors.critic", "arbor.actors.supervisor")
"""Modules of the reactors; what they import, and what that imports, decides with them."""
_FOLDER = Path(arbor.__file__).parent


@cache
def decision_code() -> str:
    """Return the digest over the sources of the reactors and of all of Arbor that they import.

    Every byte counts, comments too: equal digests mean equal code, different ones only that
    nobody can be sure.
    """
    digest = sha256()
    for module in sorted(decision_modules()):
        content = sha256(_source(module).read_bytes()).hexdigest()
        digest.update(f"{module} {content}\n".encode())
    return digest.hexdigest()


def decision_modules() -> frozenset[str]:
    """Return the modules of Arbor that take part in decisions."""
    found: set[str] = set()
    waiting = list(ROOTS)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += _imported(module)
    return frozenset(found)


def _imported(module: str) -> Iterator[str]:
    """Yield the modules of Arbor that a module imports, and the packages around them."""
    tree = ast.parse(_source(module).read_bytes())
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] != "arbor":
                continue
            for length in range(2, len(parts) + 1):
                candidate = ".".join(parts[:length])
                if _source(candidate).is_file():
                    yield candidate


def _source(module: str) -> Path:
    """Return the file of a module or package, which need not exist."""
    path = _FOLDER.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
