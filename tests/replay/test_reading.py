"""Campaign directories are opened read-only, and what is wrong with one is one line."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.core.state import CampaignState
from arbor.events.base import Recorded
from arbor.events.errors import CorruptLogError, InvalidInputError, NotFoundError
from arbor.events.layout import to_sealed
from arbor.events.parquet_log import ParquetLog
from arbor.replay.reading import open_campaign
from arbor.replay.result import RunFacts, result_of
from arbor.replay.story import Story


def test_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no directory"):
        open_campaign(tmp_path / "none")


def test_a_file_is_no_campaign(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(InvalidInputError, match="is a file"):
        open_campaign(path)


def test_directory_without_a_log(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no campaign"):
        open_campaign(tmp_path)


def test_log_without_a_campaign(tmp_path: Path) -> None:
    ParquetLog.open(tmp_path / "log", "c").close()
    with pytest.raises(NotFoundError, match="start was interrupted"):
        open_campaign(tmp_path)


def test_log_of_another_format(campaign: Path) -> None:
    path = campaign / "log" / "format.json"
    path.write_bytes(to_sealed({"campaign_id": "campaign-1", "format": 9}))
    with pytest.raises(InvalidInputError, match="log format 9"):
        open_campaign(campaign)


def test_damaged_log(campaign: Path) -> None:
    path = sorted((campaign / "log" / "tail").iterdir())[5]
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CorruptLogError, match="damaged"):
        open_campaign(campaign).state()


def test_reading_changes_nothing(finished: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("*")}
    open_campaign(finished).state()
    assert {p: p.stat().st_mtime_ns for p in finished.rglob("*")} == before


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_prefix_folds_and_incremental_equals_rebuild(
    history: tuple[Recorded, ...], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(history)))
    whole, first = CampaignState(), CampaignState()
    story = Story()
    for recorded in history[:cut]:
        first.apply(recorded)
        story.apply(recorded)
        whole.apply(recorded)
    if story.state.started is not None:
        result = result_of(story, "c", "0" * 64, RunFacts())
        assert result.num_events == cut
        assert 0.0 <= result.overhead_ratio <= 1.0
    rebuilt = CampaignState()
    for recorded in history[:cut]:
        rebuilt.apply(recorded)
    assert rebuilt == first == whole
    for recorded in history[cut:]:
        first.apply(recorded)
    for recorded in history[cut:]:
        rebuilt.apply(recorded)
    assert first == rebuilt


def test_state_at_a_position(finished: Path, history: tuple[Recorded, ...]) -> None:
    state = open_campaign(finished).state(up_to=40)
    assert state.position == 40
    assert open_campaign(finished).state().position == len(history)
