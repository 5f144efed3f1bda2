"""Verification finds every flipped byte, and every event that was changed on purpose."""

from pathlib import Path

import pyarrow as pa
import pytest

from arbor.events.codec import Extent, canonical_lines, encode_file
from arbor.events.errors import NotFoundError
from arbor.events.layout import Layout
from arbor.events.ledger import chain_digest
from arbor.events.log import GENESIS_DIGEST, Head
from arbor.events.log_file import LogFile
from arbor.events.parquet_log import ParquetLog
from arbor.events.verify import Problem, VerifyReport, verify
from tests.contracts.event_log import draft, proposed


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    log = ParquetLog.open(tmp_path / "log", "c1", grace_s=0)
    log.append([draft(1), draft(2)])
    log.compact()
    log.append([draft(3)])
    log.append([draft(4), draft(5)])
    log.close()
    return Layout(tmp_path / "log")


def only(report: VerifyReport) -> Problem:
    assert not report.is_sound
    (problem,) = report.problems
    return problem


def rewrite(path: Path, table: pa.Table, extent: Extent | None = None) -> None:
    """Write a file as somebody would who knows the format."""
    path.write_bytes(encode_file(table, extent or LogFile.load(path).extent))


def chained(table: pa.Table, first: int, previous: str) -> Extent:
    """Return the extent of a table that is one commit on a chain."""
    text = "".join(canonical_lines(table).to_pylist()).encode()
    return Extent(first, (table.num_rows,), previous, chain_digest(previous, text))


def replaced(table: pa.Table, column: str, old: str, new: str) -> pa.Table:
    values = [value and value.replace(old, new) for value in table[column].to_pylist()]
    at = table.column_names.index(column)
    return table.set_column(at, table.schema.field(column), pa.array(values, pa.string()))


def test_a_sound_log(layout: Layout) -> None:
    report = verify(layout.directory)
    assert report.is_sound
    assert (report.num_events, report.num_commits) == (5, 3)
    # Two files without rows, one segment, two commits, one epoch, the format.
    assert report.num_files == 7
    log = ParquetLog.open(layout.directory, "c1")
    assert report.head == log.head()
    assert verify(layout.directory, anchors=[report.head]).is_sound


def test_an_empty_log(tmp_path: Path) -> None:
    ParquetLog.open(tmp_path / "log", "c1").close()
    assert verify(tmp_path / "log").head == Head(0, GENESIS_DIGEST)
    with pytest.raises(NotFoundError):
        verify(tmp_path)


def test_every_flipped_byte_is_found(layout: Layout) -> None:
    num_flips = 0
    for path in sorted(each for each in layout.directory.rglob("*") if each.is_file()):
        data = path.read_bytes()
        with path.open("r+b", buffering=0) as file:
            for at, byte in enumerate(data):
                file.seek(at)
                file.write(bytes([byte ^ (1 << (at % 8))]))
                problem = only(verify(layout.directory))
                assert problem.file == path, f"byte {at} of {path}"
                assert str(path) in problem.text
                file.seek(at)
                file.write(bytes([byte]))
                num_flips += 1
    assert num_flips > 10_000
    assert verify(layout.directory).is_sound


def test_a_changed_event_breaks_its_digest(layout: Layout) -> None:
    path = layout.tail_path(3)
    rewrite(path, replaced(LogFile.load(path).table(), "payload", "because", "thinking"))
    problem = only(verify(layout.directory))
    assert (problem.file, problem.position) == (path, 3)
    assert "do not give the digest" in problem.text


def test_a_changed_column_disagrees_with_its_payload(layout: Layout) -> None:
    path = layout.tail_path(4)
    table = LogFile.load(path).table()
    for column, old, new in (("node_id", "n0", "n1"), ("kind", "Proposed", "Scored")):
        rewrite(path, replaced(table, column, old, new))
        problem = verify(layout.directory).problems[0]
        assert (problem.file, problem.position) == (path, 4)
        assert "disagree" in problem.text


def test_a_rewritten_end_is_found_by_an_anchor_only(layout: Layout) -> None:
    anchor = verify(layout.directory).head
    path = layout.tail_path(4)
    file = LogFile.load(path)
    table = replaced(file.table(), "payload", "because", "otherwise")
    rewrite(path, table, chained(table, 4, file.extent.previous))
    assert verify(layout.directory).is_sound
    assert "anchor" in only(verify(layout.directory, [anchor])).text
    path.unlink()
    assert verify(layout.directory).is_sound
    assert "cut or rewritten" in only(verify(layout.directory, [anchor])).text


def test_a_gap_is_found(layout: Layout) -> None:
    layout.tail_path(3).unlink()
    problem = only(verify(layout.directory))
    assert (problem.position, problem.file) == (3, layout.tail_path(4))
    assert "positions 3 to 3 are missing" in problem.text


def test_a_commit_of_another_log_is_found(layout: Layout, tmp_path: Path) -> None:
    other = ParquetLog.open(tmp_path / "other", "c1")
    other.append([draft(6), draft(7), draft(8)])
    other.append([draft(9)])
    Layout(tmp_path / "other").tail_path(4).rename(layout.tail_path(4))
    assert "does not follow" in only(verify(layout.directory)).text


def test_an_event_stored_twice_is_found(layout: Layout) -> None:
    table = LogFile.load(layout.tail_path(3)).table()
    moved = table.set_column(0, table.schema.field("position"), pa.array([6]))
    latest = LogFile.load(layout.tail_path(4)).table().column("recorded_at").slice(1)
    moved = moved.set_column(2, moved.schema.field("recorded_at"), latest)
    extent = chained(moved, 6, verify(layout.directory).head.digest)
    layout.tail_path(6).write_bytes(encode_file(moved, extent))
    problem = only(verify(layout.directory))
    assert (problem.file, problem.position) == (layout.tail_path(6), 6)
    assert "that of an earlier one" in problem.text


def test_a_commit_of_nobody_is_found(layout: Layout) -> None:
    (layout.epochs / "1").unlink()
    assert "nobody claimed epoch 1" in verify(layout.directory).problems[0].text


def test_a_renamed_file_is_found(layout: Layout) -> None:
    layout.tail_path(4).rename(layout.tail_path(5))
    assert "other positions than its name" in only(verify(layout.directory)).text


def test_what_lies_before_the_damage_is_told(layout: Layout) -> None:
    layout.tail_path(4).write_bytes(b"")
    report = verify(layout.directory)
    assert (report.num_events, report.num_commits) == (3, 2)
    assert only(report).position == 4


def test_odd_payloads_are_compared_too(tmp_path: Path) -> None:
    """Escapes, nested names and texts that look like other things agree with their columns."""
    log = ParquetLog.open(tmp_path / "log", "c1")
    for number, reason in enumerate(('"}\n{"kind":"x"', "\x00\u2028🙂", "null", "\\u0041")):
        log.append([draft(number, proposed(number, reason))])
    log.close()
    assert verify(tmp_path / "log").is_sound
