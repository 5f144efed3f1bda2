"""A log in the hands of somebody who knows its format: seals and digest chain are right again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from arbor.events.codec import Extent, canonical_lines, encode_file
from arbor.events.layout import Layout
from arbor.events.ledger import chain_digest
from arbor.events.log import GENESIS_DIGEST
from arbor.events.log_file import LogFile
from arbor.events.parquet_reader import ParquetReader


class ForgedLog:
    """All commits of a log as tables; change them, then ``write``.

    Attributes:
        layout: names of the log's files.
        commits: rows of each commit, in order.
    """

    def __init__(self, log: Path) -> None:
        self.layout = Layout(log)
        self.commits: list[pa.Table] = []
        for file in ParquetReader(log).files():
            table, at = file.table(), 0
            for size in file.extent.sizes:
                self.commits.append(table.slice(at, size))
                at += size

    def write(self, *, first: int = 1) -> None:
        """Replace the log's events: one file a commit, numbered and chained from the start.

        Args:
            first: position of the first event.
        """
        for folder in (self.layout.tail, self.layout.segments):
            for path in folder.glob("*.parquet"):
                if path not in {self.layout.tail_path(0), self.layout.segment_path(0, 0)}:
                    path.unlink()
        digest, position = GENESIS_DIGEST, first
        for table in self.commits:
            numbered = with_values(table, "position", _counting(position))
            extent = extent_of(numbered, position, digest)
            self.layout.tail_path(position).write_bytes(encode_file(numbered, extent))
            digest, position = extent.digest, position + table.num_rows


def extent_of(table: pa.Table, first: int, previous: str) -> Extent:
    """Return the extent of a table that is one commit on a chain."""
    text = "".join(canonical_lines(table).to_pylist()).encode()
    return Extent(first, (table.num_rows,), previous, chain_digest(previous, text))


def reseal(path: Path, change: Callable[[pa.Table], pa.Table], *, chained: bool = False) -> None:
    """Change the rows of one file and seal it again; with ``chained`` its own digest too."""
    file = LogFile.load(path)
    table = change(file.table())
    extent = file.extent
    if chained:
        extent = extent_of(table, extent.first, extent.previous)
    path.write_bytes(encode_file(table, extent))


def with_values(table: pa.Table, column: str, change: Callable[[Any], Any]) -> pa.Table:
    """Return a table with every value of a column changed."""
    at = table.column_names.index(column)
    field = table.schema.field(column)
    values = [change(value) for value in table.column(column).to_pylist()]
    return table.set_column(at, field, pa.array(values, field.type))


def _counting(first: int) -> Callable[[Any], int]:
    numbers = iter(range(first, 1 << 62))
    return lambda _: next(numbers)
