"""Logs of any size are read at both ends, with true numbers of lines."""

from pathlib import Path

import pytest

from arbor.targets.log_excerpt import HEAD_BYTES, MAX_CHARACTERS, TAIL_BYTES, excerpt, read_log


def test_a_small_log_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\r\n 10%\r 20%\r\nlast \xff")
    assert [(x.number, x.text) for x in read_log(path)] == [
        (1, "one"),
        (2, " 20%"),
        (3, "last \ufffd"),
    ]
    path.write_bytes(b"")
    assert read_log(path) == ()


def test_a_large_log_is_read_at_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "log"
    num_lines = 60_000
    with path.open("w") as file:
        file.writelines(f"line {n} {'x' * 60}\n" for n in range(1, num_lines + 1))
    lines = read_log(path)
    assert path.stat().st_size > HEAD_BYTES + TAIL_BYTES
    assert len(lines) < num_lines
    assert (lines[0].text.split()[:2], lines[-1].number) == (["line", "1"], num_lines)
    whole = [x for x in lines if x.text.startswith("line ") and len(x.text) > 60]
    assert all(x.text.split()[1] == str(x.number) for x in whole)
    assert len(whole) >= len(lines) - 1, "at most one line is cut"


def test_rotated_logs_are_one(tmp_path: Path) -> None:
    old, new = tmp_path / "log.1", tmp_path / "log"
    old.write_text("a\nb\n")
    new.write_text("c\n" + "d" * 1000)
    lines = excerpt((old, new))
    assert [x.number for x in lines] == [1, 2, 3, 4]
    assert len(lines[-1].text) == MAX_CHARACTERS
    assert excerpt((tmp_path / "none", new))[0].text == "c"


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    assert excerpt((tmp_path / "none",)) == ()
    with pytest.raises(OSError, match="none"):
        read_log(tmp_path / "none")
