"""The kernel's names of AMD architectures."""

from pathlib import Path

import pytest

from arbor.targets.hardware.kfd import read_nodes


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("90402", "gfx942"),
        ("90010", "gfx90a"),
        ("90500", "gfx950"),
        ("120500", "gfx1250"),
        ("x", ""),
    ],
)
def test_architecture(tmp_path: Path, version: str, name: str) -> None:
    node = tmp_path / "3"
    node.mkdir()
    (node / "properties").write_text(f"simd_count 4\ngfx_target_version {version}\nlonely\n")
    [found] = read_nodes(tmp_path)
    assert (found.number, found.architecture, found.num_compute_dies) == (3, name, None)
