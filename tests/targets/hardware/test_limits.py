"""Limits of control groups of both versions; the tightest one counts."""

from pathlib import Path

import pytest

from arbor.targets.hardware.limits import Limits, read_limits


def _machine(folder: Path, membership: str, files: dict[str, str]) -> Limits:
    (folder / "cgroup").write_text(membership)
    for name, text in files.items():
        path = folder / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_limits(folder / "cgroup", folder / "fs")


def test_version_2_and_the_groups_around(tmp_path: Path) -> None:
    files = {
        "a/b/memory.max": "max\n",
        "a/memory.max": "4294967296\n",
        "a/b/cpu.max": "250000 100000\n",
        "a/cpu.max": "max 100000\n",
    }
    assert _machine(tmp_path, "0::/a/b\n", files) == Limits(2**32, 2.5)


def test_version_1(tmp_path: Path) -> None:
    files = {
        "memory/x/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/memory.limit_in_bytes": "1073741824\n",
        "cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
        "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    }
    # the path of a container is not visible inside of it; the mount's root is its own group
    membership = "4:memory:/x\n3:cpu,cpuacct:/docker/77\n0::/\n"
    assert _machine(tmp_path, membership, files) == Limits(2**30, 1.5)


@pytest.mark.parametrize("text", ["max", "-1", "0", "garbage", "", "\x80"])
def test_no_limit(tmp_path: Path, text: str) -> None:
    files = {"memory.max": text, "cpu.max": f"{text} 100000", "cpu/cpu.cfs_quota_us": text}
    assert _machine(tmp_path, "1:cpu:/\n0::/../gone\nx\n", files) == Limits(None, None)


def test_no_files(tmp_path: Path) -> None:
    assert read_limits(tmp_path / "none", tmp_path) == Limits(None, None)
