"""The house's arrows that import-linter cannot see: links, sole users, kernels on their own."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINKED = ("actors", "events", "kernels", "replay")


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found |= {str(each.value) for each in node.args if isinstance(each, ast.Constant)}
    return found


def _users(package: str) -> set[str]:
    files = [p for folder in ("arbor", *LINKED) for p in (ROOT / folder).rglob("*.py")]
    assert len(files) > 50
    return {
        path.relative_to(ROOT).as_posix()
        for path in files
        if not any(part in LINKED for part in path.relative_to(ROOT).parts[1:])
        and any(name.split(".")[0] == package for name in _imports(path))
    }


@pytest.mark.parametrize("folder", LINKED)
def test_top_level_folders_are_linked_under_the_package(folder: str) -> None:
    link = ROOT / "arbor" / folder
    assert link.is_symlink()
    assert link.resolve() == ROOT / folder


def test_kernels_do_not_shadow_the_public_package_of_that_name() -> None:
    assert not (ROOT / "kernels" / "__init__.py").exists()


def test_kernels_import_nothing_of_ours_but_themselves() -> None:
    files = list((ROOT / "kernels").rglob("*.py"))
    assert files
    for path in files:
        ours = {name for name in _imports(path) if name.split(".")[0] == "arbor"}
        assert all(name.startswith("arbor.kernels") for name in ours), path


def test_heavy_libraries_have_their_sole_users() -> None:
    parts = {f"actors/ray_{part}.py" for part in ("actors", "crew", "nodes", "seats")}
    assert _users("ray") == {"actors/cluster.py", *parts}
    assert all(path.startswith("replay/") for path in _users("duckdb"))
    assert _users("litellm") == {"actors/model.py"}
    homes = (
        "arbor/targets/engine/server/",
        "arbor/targets/kernel/",
        "arbor/cli/kernel",
        "kernels/",
    )
    assert all(path.startswith(homes) for path in _users("torch"))


def test_the_command_line_starts_without_heavy_libraries() -> None:
    heavy = {"torch", "triton", "ray", "litellm"}
    words = f"import sys, arbor.cli.main; print(*{heavy} & {{*sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == ""
