"""Parts for a machine without network: what goes in comes out, and in order."""

import hashlib
import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from benchmarks.gpu.pack import (
    MANIFEST,
    REQUIREMENTS,
    PackingFailedError,
    compress,
    main,
    unpack,
    write_manifest,
)


def wheel(folder: Path, name: str, files: dict[str, str]) -> None:
    """Write a wheel."""
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def test_wheels_go_into_one_folder_without_what_is_not_needed(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheel(wheels, "a.whl", {"vllm/x.py": "1", "vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so": "2"})
    wheel(wheels, "b.whl", {"ray/core.py": "3", "ray/rllib/big.py": "4"})
    assert unpack(wheels, tmp_path / "site") == 2
    files = sorted(p.name for p in (tmp_path / "site").rglob("*") if p.is_file())
    assert files == ["core.py", "x.py"]


def test_what_may_be_executed_stays_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        for name, mode in (("ray/server", 0o755), ("ray/data", 0o644)):
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            archive.writestr(member, "x")
    unpack(tmp_path, tmp_path / "site")
    assert os.access(tmp_path / "site" / "ray" / "server", os.X_OK)
    assert not (tmp_path / "site" / "ray" / "data").stat().st_mode & 0o111


def test_a_damaged_wheel_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken-1.whl").write_text("no archive")
    with pytest.raises(PackingFailedError, match=r"broken-1\.whl.*remove it and try again"):
        unpack(tmp_path, tmp_path / "site")


def test_parts_put_together_are_the_folder(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    # random-looking text, so that several parts are needed
    text = "".join(hashlib.sha256(str(n).encode()).hexdigest() for n in range(200))
    (site / "module.py").write_text(text)
    parts = compress(tmp_path, part_bytes=1000)
    assert len(parts) > 2
    assert [p.name for p in parts[:2]] == ["site.tar.xz.00", "site.tar.xz.01"]
    together = tmp_path / "whole.tar.xz"
    together.write_bytes(b"".join(p.read_bytes() for p in parts))
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["tar", "--extract", "-f", str(together), "-C", str(out)], check=True)
    assert (out / "site" / "module.py").read_text() == text
    rows = json.loads(write_manifest(parts).read_text())
    assert [row["name"] for row in rows] == [p.name for p in parts]
    assert rows[0]["sha256"] == hashlib.sha256(parts[0].read_bytes()).hexdigest()


def test_what_is_packed_is_not_packed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / MANIFEST).write_text("[]")
    assert main([str(tmp_path)]) == 0
    assert "remove it to pack again" in capsys.readouterr().out


def test_every_requirement_is_exact() -> None:
    lines = [
        line
        for line in REQUIREMENTS.read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    assert "vllm==0.24.0" in lines
    assert all("==" in line for line in lines)
    names = [line.partition("==")[0] for line in lines]
    assert len(set(names)) == len(names)
