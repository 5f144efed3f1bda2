"""Loads task and candidate files, at their native sizes or with all sizes shrunk."""

import ast
import types
from pathlib import Path
from typing import Any

from arbor.kernels.architectures import KernelInputError

REQUIRED = ("Model", "get_inputs", "get_init_inputs")
CANDIDATE_CLASS = "ModelNew"
MIN_SIZE = 4
"""Sizes are not shrunk below this; smaller ones stay, since they count channels or groups."""


def load_task(path: Path, shrink: int = 1) -> types.ModuleType:
    """Return a task's module.

    Source of the form: Ouyang et al., "KernelBench", 2025; a file defines ``Model``, a list of
    inputs and the arguments of the constructor, with sizes as numbers at its top.

    Args:
        path: a Python file.
        shrink: whole numbers assigned at the file's top are divided by it.

    Raises:
        KernelInputError: there is no such file, it does not run, or a part is missing.
    """
    module = _load(path, shrink)
    missing = [name for name in REQUIRED if not hasattr(module, name)]
    if missing:
        raise KernelInputError(f"{path} has no {', '.join(missing)}; a task defines all of them")
    return module


def load_candidate(path: Path) -> Any:
    """Return the class ``ModelNew`` of a candidate file.

    Raises:
        KernelInputError: there is no such file, it does not run, or has no such class.
    """
    module = _load(path, 1)
    if not hasattr(module, CANDIDATE_CLASS):
        raise KernelInputError(f"{path} has no class {CANDIDATE_CLASS}")
    return getattr(module, CANDIDATE_CLASS)


def _load(path: Path, shrink: int) -> types.ModuleType:
    try:
        tree = ast.parse(path.read_text(), filename=str(path))
    except (OSError, SyntaxError, ValueError) as error:
        raise KernelInputError(f"{path} cannot be read: {error}") from error
    if shrink > 1:
        tree = _Shrunk(shrink).visit(tree)
    module = types.ModuleType(f"task_{path.stem}")
    # Triton reads the source of a kernel from the file that its code names
    module.__file__ = str(path)
    try:
        exec(compile(tree, str(path), "exec"), vars(module))  # noqa: S102 - code is what tasks are
    except Exception as error:
        raise KernelInputError(f"{path} does not run: {type(error).__name__}: {error}") from error
    return module


class _Shrunk(ast.NodeTransformer):
    """Divides whole numbers that are assigned to names at the top of a file."""

    def __init__(self, factor: int) -> None:
        self._factor = factor

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Shrink the assignments of a module; functions and classes stay as they are."""
        for statement in node.body:
            if isinstance(statement, ast.Assign):
                statement.value = self._shrunk(statement.value)
        return ast.fix_missing_locations(node)

    def _shrunk(self, value: ast.expr) -> ast.expr:
        if isinstance(value, ast.Tuple):
            return ast.Tuple([self._shrunk(each) for each in value.elts], value.ctx)
        if isinstance(value, ast.Constant) and type(value.value) is int:
            size = value.value
            return ast.Constant(max(size // self._factor, min(size, MIN_SIZE)))
        return value
