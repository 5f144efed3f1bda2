"""A small round of `make chaos`: kills, pauses, torn files, flipped bits, full disks."""

from pathlib import Path

import pytest

from tests.chaos import damage
from tests.chaos.storm import run_storm


def test_kills_and_pauses_under_load(tmp_path: Path) -> None:
    storm = run_storm(tmp_path, num_kills=14, num_pauses=3)
    assert storm.problems == []
    assert storm.num_done.total() == 17
    assert storm.num_done["killed keeper"] > 0
    assert 0 < storm.num_acknowledged <= storm.num_events
    assert storm.num_epochs > 1


def sound(trial: damage.Trial, num: int) -> bool:
    """Return whether each damage was reported and undone, or say why there was none."""
    if trial.skipped:
        pytest.skip(trial.skipped)
    assert trial.problems == []
    return (trial.num_done, trial.num_reported) == (num, num)


def test_torn_and_zeroed_tails_are_reported(tmp_path: Path) -> None:
    assert sound(damage.torn_tails(tmp_path / "log", 12), 12)


def test_flipped_bits_are_reported(tmp_path: Path) -> None:
    assert sound(damage.bit_flips(tmp_path / "log", 24), 24)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    assert sound(damage.full_disk(tmp_path / "disk", 2), 2)


def test_a_failed_sync_loses_nothing(tmp_path: Path) -> None:
    assert sound(damage.failed_syncs(tmp_path / "log", 3), 3)
