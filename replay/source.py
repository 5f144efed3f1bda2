"""Where a database takes events from: files of whole commits, as a log's reader finds them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from arbor.events.base import Recorded

RAW_EVENTS = """
select distinct on (position) *
from read_parquet(['{log}/tail/*.parquet', '{log}/segments/*.parquet'], union_by_name = true)
order by position
"""
"""The same rows for any other DuckDB, straight from the files."""


class File(Protocol):
    """Rows of whole commits, proved whole when it was opened."""

    @property
    def path(self) -> Path:
        """Where it lies."""
        ...

    @property
    def first(self) -> int:
        """First position."""
        ...

    @property
    def last(self) -> int:
        """Last position."""
        ...

    def table(self) -> pa.Table:
        """Return the rows."""
        ...

    def events(self, after: int = 0) -> Iterator[Recorded]:
        """Yield the events beyond a position."""
        ...


class Source(Protocol):
    """Where events come from: a log's reader."""

    def files(self, after: int = 0) -> Iterator[File]:
        """Yield the files that hold the events beyond a position."""
        ...
