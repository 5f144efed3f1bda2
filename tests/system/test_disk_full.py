"""A disk that fills up: one line, nothing acknowledged is lost, and it goes on after cleaning."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbor.events.evidence import PairMeasured
from tests.system.campaigns import driver, landscape, only, read_log
from tests.system.invariants import require_sound

pytestmark = pytest.mark.system

SMALL = "1200k"
"""Enough for the first trials of a landscape and not for all."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "campaign"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting needs root")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_full_disk_ends_the_campaign_until_there_is_space(
    small_disk: Path, tmp_path: Path
) -> None:
    # Two starts of Ray: the one that fills the disk, and the one that finds more space.
    file = landscape(tmp_path / "campaign.yaml")
    with driver(small_disk, "run", file, "--dir", small_disk) as first:
        assert first.wait() == 2
        first.require_no_orphans()
        first.require_quiet()
        (line,) = first.err.read_text().splitlines()
    assert line.startswith("error: ")
    assert "no space" in line.lower()
    full = read_log(small_disk)
    assert only(full, PairMeasured)
    printed = first.out.read_text()
    kept = [each for each in printed.splitlines() if "kept " in each]
    assert kept, "it got as far as to lose something"
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    with driver(small_disk, "resume", small_disk) as second:
        assert second.wait() == 0, second.text()
        second.require_no_orphans()
        second.require_quiet()
    require_sound(small_disk, full)
