"""Disks that are small or read-only, for real."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.events.disks import Freeze, Nobody


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB, half of it taken by ``ballast``."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting needs root")
    try:
        (path / "ballast").write_bytes(b"x" * 128 * 1024)
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.fixture
def freeze() -> Iterator[Freeze]:
    """A function that makes a directory read-only until the end of the test."""
    with ExitStack() as stack:

        def make_read_only(path: Path) -> None:
            if os.geteuid() == 0:
                for options in ("bind", "remount,ro,bind"):
                    mount = ["mount", "-o", options, str(path), str(path)]
                    if subprocess.run(mount, check=False, capture_output=True).returncode:
                        pytest.skip("no mounts here")
                    if options == "bind":
                        stack.callback(subprocess.run, ["umount", "--lazy", str(path)], check=True)
                return
            for each in (path, *path.rglob("*")):
                each.chmod(0o555 if each.is_dir() else 0o444)
                if each.is_dir():
                    stack.callback(each.chmod, 0o755)

        yield make_read_only


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory of this test alone that others can reach, unlike ``tmp_path``."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture
def nobody() -> Nobody:
    """A context in which root has no more rights than others."""

    @contextmanager
    def become() -> Iterator[None]:
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(user)

    return become
