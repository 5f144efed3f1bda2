"""Anchors are kept in files of their own, one a line, outside of what they prove."""

from pathlib import Path

import pytest

from arbor.events.anchors import note_anchor, parse_anchor, read_anchors, require_elsewhere
from arbor.events.errors import InvalidInputError
from arbor.events.log import Head

FIRST, SECOND = Head(3, "a" * 64), Head(12, "0" * 64)


def test_a_file_gathers_anchors(tmp_path: Path) -> None:
    path = tmp_path / "anchors"
    note_anchor(path, FIRST)
    note_anchor(path, SECOND)
    assert read_anchors(str(path)) == (FIRST, SECOND)
    assert read_anchors(f" 3:{'a' * 64}\n") == (FIRST,)


@pytest.mark.parametrize("text", ["", "3", f"x:{'a' * 64}", f"3:{'a' * 63}", f"3:{'A' * 64}"])
def test_what_is_no_anchor(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInputError, match="anchor"):
        parse_anchor(text)
    path = tmp_path / "anchors"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match="anchor"):
        read_anchors(str(path))


def test_a_campaign_does_not_hold_its_own(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="elsewhere"):
        require_elsewhere(tmp_path / "campaign" / "sub" / "x", tmp_path / "campaign")
    require_elsewhere(tmp_path / "x", tmp_path / "campaign")
    with pytest.raises(InvalidInputError, match="cannot write"):
        note_anchor(tmp_path / "none" / "x", FIRST)
