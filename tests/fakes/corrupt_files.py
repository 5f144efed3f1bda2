"""Corruptions of a log's files, epochs and format; one function each."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arbor.events.layout import read_sealed, to_sealed
from arbor.events.log_file import LogFile
from arbor.replay.reading import open_campaign
from tests.fakes.corrupting import log_of, lone_tails, segments, tails
from tests.fakes.forged_log import ForgedLog, reseal, with_values

# The log's files


def segment_removed_with_its_commits(path: Path) -> None:
    """Segment removed with its commits."""
    segment = segments(path)[0]
    file = LogFile.load(segment)
    for tail in tails(path):
        if file.first <= int(tail.stem) <= file.last:
            tail.unlink()
    segment.unlink()


def segments_swapped(path: Path) -> None:
    """Segments swapped."""
    first, second, *_ = segments(path)
    first_data, second_data = first.read_bytes(), second.read_bytes()
    first.write_bytes(second_data)
    second.write_bytes(first_data)


def old_segment_replayed_at_the_end(path: Path) -> None:
    """Old segment replayed at the end."""
    head = open_campaign(path).reader.head().position
    old = LogFile.load(segments(path)[0])
    size = old.last - old.first + 1
    shutil.copy(segments(path)[0], log_of(path).segment_path(head + 1, head + size))


def old_segment_replayed_and_renumbered(path: Path) -> None:
    """Sealed, and chained to the end; the events have been there before."""
    forged = ForgedLog(path / "log")
    forged.commits += forged.commits[:3]
    forged.write()


def segment_duplicated_under_a_longer_name(path: Path) -> None:
    """Segment duplicated under a longer name."""
    layout = log_of(path)
    first, last = layout.segment_ranges()[0]
    shutil.copy(layout.segment_path(first, last), layout.segment_path(first, last + 1))


def tail_removed_in_the_middle(path: Path) -> None:
    """Tail removed in the middle."""
    commits = lone_tails(path)
    commits[len(commits) // 2].unlink()


def tails_swapped(path: Path) -> None:
    """Tails swapped."""
    first, second, *_ = lone_tails(path)
    first_data, second_data = first.read_bytes(), second.read_bytes()
    first.write_bytes(second_data)
    second.write_bytes(first_data)


def tail_renamed_to_another_position(path: Path) -> None:
    """Tail renamed to another position."""
    tail = lone_tails(path)[-1]
    tail.rename(log_of(path).tail_path(int(tail.stem) + 5))


def tail_replaced_by_the_one_before(path: Path) -> None:
    """Tail replaced by the one before."""
    commits = lone_tails(path)
    shutil.copy(commits[-2], commits[-1])


def footer_truncated(path: Path) -> None:
    """Footer truncated."""
    tail = lone_tails(path)[-1]
    tail.write_bytes(tail.read_bytes()[:-16])


def file_emptied(path: Path) -> None:
    """File emptied."""
    lone_tails(path)[-1].write_bytes(b"")


def file_zeroed(path: Path) -> None:
    """File zeroed."""
    tail = lone_tails(path)[-1]
    tail.write_bytes(bytes(tail.stat().st_size))


def bytes_appended(path: Path) -> None:
    """Bytes appended."""
    tail = lone_tails(path)[-1]
    tail.write_bytes(tail.read_bytes() + b"more")


def file_rewritten_by_another_tool(path: Path) -> None:
    """File rewritten by another tool."""
    tail = lone_tails(path)[-1]
    pq.write_table(pq.read_table(tail), tail)


def file_of_text_in_the_tail(path: Path) -> None:
    """File of text in the tail."""
    head = open_campaign(path).reader.head().position
    log_of(path).tail_path(head + 1).write_text("not Parquet")


def file_replaced_by_a_folder(path: Path) -> None:
    """File replaced by a folder."""
    tail = lone_tails(path)[-1]
    tail.unlink()
    tail.mkdir()


def file_of_columns_removed(path: Path) -> None:
    """File of columns removed."""
    log_of(path).tail_path(0).unlink()


def rows_reordered(path: Path) -> None:
    """Rows reordered."""

    def reverse(table: pa.Table) -> pa.Table:
        return table.take(list(range(table.num_rows))[::-1])

    reseal(segments(path)[0], reverse)


def rows_reordered_under_their_positions(path: Path) -> None:
    """Rows reordered under their positions."""

    def reverse(table: pa.Table) -> pa.Table:
        turned = table.take(list(range(table.num_rows))[::-1])
        return turned.set_column(0, table.schema.field("position"), table.column("position"))

    reseal(segments(path)[0], reverse)


def row_removed(path: Path) -> None:
    """Row removed."""
    reseal(segments(path)[0], lambda table: table.slice(1))


def row_doubled(path: Path) -> None:
    """Row doubled."""
    reseal(segments(path)[0], lambda table: pa.concat_tables([table, table.slice(0, 1)]))


def payload_edited_and_sealed(path: Path) -> None:
    """Payload edited and sealed."""
    reseal(
        lone_tails(path)[-1],
        lambda table: with_values(table, "payload", lambda text: text.replace("1", "2")),
    )


def actor_edited_and_sealed(path: Path) -> None:
    """Actor edited and sealed."""
    reseal(lone_tails(path)[-1], lambda table: with_values(table, "actor", lambda _: "critic"))


def time_edited_and_sealed(path: Path) -> None:
    """Time edited and sealed."""
    tail = lone_tails(path)[-1]
    latest = LogFile.load(tail).table().column("recorded_at")[0].as_py()
    old = latest.replace(year=1999)
    reseal(tail, lambda table: with_values(table, "recorded_at", lambda _: old))


def copy_of_a_commit_edited_beside_its_segment(path: Path) -> None:
    """Copy of a commit edited beside its segment."""
    covered = next(tail for tail in tails(path) if tail not in lone_tails(path))
    reseal(covered, lambda t: with_values(t, "actor", lambda a: f"{a}x"), chained=True)


# Epochs and format


def epoch_renamed(path: Path) -> None:
    """Epoch renamed."""
    epochs = path / "log" / "epochs"
    (epochs / "1").rename(epochs / "7")


def epoch_removed(path: Path) -> None:
    """Epoch removed."""
    (path / "log" / "epochs" / "1").unlink()


def epoch_in_between_removed(path: Path) -> None:
    """Epoch in between removed."""
    epochs = path / "log" / "epochs"
    for number in (3, 4):
        (epochs / str(number)).write_bytes(to_sealed(_claim(path) | {"epoch": number}))
    (epochs / "3").unlink()


def _claim(path: Path) -> dict[str, Any]:
    return read_sealed(path / "log" / "epochs" / "1")


def epoch_edited(path: Path) -> None:
    """Epoch edited."""
    file = path / "log" / "epochs" / "1"
    file.write_text(file.read_text().replace('"epoch":1', '"epoch":2'))


def epoch_edited_and_sealed(path: Path) -> None:
    """Epoch edited and sealed."""
    (path / "log" / "epochs" / "1").write_bytes(to_sealed(_claim(path) | {"epoch": 2}))


def campaign_renamed_and_sealed(path: Path) -> None:
    """Campaign renamed and sealed."""
    file = path / "log" / "format.json"
    file.write_bytes(to_sealed({**read_sealed(file), "campaign_id": "campaign-2"}))


def format_removed(path: Path) -> None:
    """Format removed."""
    (path / "log" / "format.json").unlink()


def format_number_raised(path: Path) -> None:
    """Format number raised."""
    file = path / "log" / "format.json"
    file.write_bytes(to_sealed({**read_sealed(file), "format": 3}))
