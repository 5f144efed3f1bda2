"""A study's directory is written once."""

import json
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError
from arbor.studies.recording import StudyDirectory, aligned


def test_a_study_is_not_overwritten(tmp_path: Path) -> None:
    with StudyDirectory(tmp_path) as kept:
        kept.finish({"a": 1}, "t", "<svg/>")
    assert json.loads((tmp_path / "summary.json").read_text()) == {"a": 1}
    with pytest.raises(InvalidInputError, match="choose another --dir"):
        StudyDirectory(tmp_path)


def test_events_are_lines_in_their_order(tmp_path: Path) -> None:
    with StudyDirectory(tmp_path) as kept:
        kept.record("One", value=1.5)
        kept.record("Two", value=None)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert events == [{"kind": "One", "value": 1.5}, {"kind": "Two", "value": None}]


def test_numbers_stand_on_the_right() -> None:
    assert aligned([("name", "n"), ("a", "100")]) == "name    n\na     100"
