"""Kernels import nothing of Arbor but kernels; their folder has no package file at its top."""

import ast
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "kernels"


def test_kernels_import_nothing_else_of_ours() -> None:
    files = sorted(FOLDER.rglob("*.py"))
    assert len(files) > 30
    imported = {
        name
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    ours = {name for name in imported if name.split(".")[0] in {"arbor", "events", "kernels"}}
    assert ours
    assert all(name.startswith("arbor.kernels.") for name in ours)


def test_the_folder_stays_a_namespace() -> None:
    assert not (FOLDER / "__init__.py").exists()
    assert all((path.parent / "__init__.py").exists() for path in FOLDER.glob("*/*.py"))
